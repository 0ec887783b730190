// Elements from tags, attributes and text. Text is only ever set as text.

export type Child = Node | string;
export type Attributes = Record<string, string | number | boolean | null>;

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element; an attribute that is false or null is left out, true is set empty. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return fill(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

/** The element with an id that the template promises. */
export function byId(id: string): HTMLElement;
export function byId<E extends HTMLElement>(id: string, kind: new () => E): E;
export function byId(id: string, kind: new () => HTMLElement = HTMLElement): HTMLElement {
  const found = document.getElementById(id);
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} #${id}`);
  return found;
}

/** A name isolated from the direction of the text around it. */
export function name(text: string, className = ""): HTMLElement {
  return element("bdi", className ? { class: className } : {}, text || "(no name)");
}

/** A name for the middle of a plain text: right-to-left characters in it end with it. */
export function isolated(text: string): string {
  return /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufeff]/.test(text)
    ? `\u2068${text}\u2069`
    : text;
}

/** A horizontal bar of a ratio from 0 to 1. */
export function bar(ratio: number): SVGElement {
  const width = Math.max(0, Math.min(1, ratio)) * 100;
  return svg(
    "svg",
    { class: "bar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("rect", { width, height: 8 }),
  );
}

function fill<E extends Element>(made: E, attributes: Attributes, children: Child[]): E {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === false) continue;
    made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children);
  return made;
}
