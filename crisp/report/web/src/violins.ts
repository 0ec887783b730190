// Hosts: violins of the time that a call holds the critical path, by an attribute of its host.

import { at, readPart } from "./data.js";
import { byId, type Child, element, isolated, name, svg } from "./dom.js";
import { whenSeen } from "./seen.js";
import { count, micros } from "./units.js";
import { addressFields, showInAddress, whenAddressChanges } from "./view.js";
import {
  type Attribute,
  attributeOf,
  type Choice,
  choiceFields,
  outlinePoints,
  parseChoice,
  type Value,
  type ViolinsData,
} from "./violins_data.js";

const WIDTH = 400;
const HEIGHT = 48;
const COLUMNS = [
  ["Hosts", "different hosts that it ran on"],
  ["Observations", "traces and hosts that it ran on; at least 20 are needed"],
  ["P50", "half of the times are shorter: the dark line"],
  ["P95", "95 % of the times are shorter: the thin line"],
  ["P99", "99 % of the times are shorter; needs 100 observations"],
] as const;

/** Fill the section when it comes into view. */
export function showViolins(): void {
  const place = byId("hosts");
  whenSeen(place, () => {
    const data = readPart("violins") as ViolinsData;
    if (data.endpoints.length) fill(place, data); // or else the page says why there are none
  });
}

function fill(place: HTMLElement, data: ViolinsData): void {
  const endpoints = element("select", { id: "host-endpoint" });
  const attributes = element("select", { id: "host-attribute" });
  const said = element("p", { class: "verdict", role: "status" });
  const body = element("div");
  endpoints.append(
    ...data.endpoints.map((e, i) =>
      option(i, `${isolated(e.operation || "(no name)")} · ${isolated(e.service || "(no name)")}`, e.attributes.some((a) => a.different)),
    ),
  );
  place.replaceChildren(
    element("div", { class: "controls" }, field("Call", endpoints), field("Hosts by", attributes)),
    said,
    body,
  );
  let choice: Choice = { endpoint: 0, attribute: 0 };
  const draw = (next: Choice): void => {
    choice = next;
    const shown = at(data.endpoints, choice.endpoint).attributes;
    endpoints.value = String(choice.endpoint);
    attributes.replaceChildren(...shown.map((a, i) => option(i, isolated(a.attribute), a.different)));
    attributes.value = String(choice.attribute);
    const attribute = at(shown, choice.attribute);
    said.replaceChildren(...verdict(attribute, data.tests));
    body.replaceChildren(...content(attribute));
  };
  const choose = (next: Choice): void => {
    showInAddress(choiceFields(data, next));
    draw(next);
  };
  endpoints.addEventListener("change", () => {
    const before = at(at(data.endpoints, choice.endpoint).attributes, choice.attribute);
    const endpoint = Number(endpoints.value);
    choose({ endpoint, attribute: attributeOf(data, endpoint, before.attribute) });
  });
  attributes.addEventListener("change", () => {
    choose({ endpoint: Number(endpoints.value), attribute: Number(attributes.value) });
  });
  const restore = (): void => {
    draw(parseChoice(data, addressFields(location.hash)));
  };
  whenAddressChanges(() => choiceFields(data, choice), restore);
  restore();
}

function option(value: number, text: string, different: boolean): HTMLElement {
  return element("option", { value }, different ? `${text} (differs)` : text);
}

function field(label: string, control: HTMLElement): HTMLElement {
  return element("label", { class: "field" }, element("span", {}, label), control);
}

function content(attribute: Attribute): Child[] {
  return [...(attribute.values.length ? [scrolling(table(attribute))] : []), ...notes(attribute)];
}

/** What the comparison found, in words. */
function verdict({ attribute, values, effect, p, different }: Attribute, tests: number): Child[] {
  if (!effect || p === null) {
    return ["Too few observations to compare: at least two values need 20 of them each."];
  }
  const adjusted = tests === 1 ? "" : `, adjusted for all ${count(tests)} comparisons on this page`;
  const proof = element("span", { class: "quiet" }, ` (${p}${adjusted})`);
  if (!different) return ["No difference that chance would not explain as well", proof, "."];
  if (effect.equal) return ["The medians are equal, but the times are spread differently", proof, "."];
  return [
    effect.slight ? "The hosts differ, though not by much" : "The hosts differ",
    proof,
    ": the median on ",
    name(at(values, effect.high).value),
    ` is ${effect.words} `,
    name(at(values, effect.low).value),
    ".",
    ...(attribute === "host" ? [] : loneHosts([at(values, effect.high), at(values, effect.low)])),
  ];
}

/** A warning where a value was seen on one host only: then that host may be the reason. */
function loneHosts(values: Value[]): Child[] {
  return values
    .filter(({ hosts }) => hosts === 1)
    .flatMap(({ value }) => [" Only one host has ", name(value), ", so the reason may be that host."]);
}

function table(attribute: Attribute): HTMLElement {
  const head = [
    element("th", { scope: "col" }, name(attribute.attribute)),
    element("th", { scope: "col", class: "violin", title: "time it holds the critical path itself; the wider, the more often that was seen; each shape is as wide as its peak" }, "Own time"),
    ...COLUMNS.map(([title, hint], i) => element("th", { scope: "col", class: numberClass(i), title: hint }, title)),
  ];
  return element(
    "table",
    { class: "grid" },
    element("thead", {}, element("tr", {}, ...head)),
    element("tbody", {}, ...attribute.values.map((value) => line(value))),
    element("tfoot", {}, element("tr", {}, element("td"), element("td", { class: "violin" }, axis(attribute)), element("td", { colspan: COLUMNS.length }))),
  );
}

/** In a box of its own that scrolls sideways, also by the arrow keys. */
function scrolling(child: HTMLElement): HTMLElement {
  return element("div", { class: "scroll", role: "region", tabindex: 0, "aria-label": "Times by host" }, child);
}

function line(value: Value): HTMLElement {
  const times = [value.p50_us, value.p95_us, value.p99_us].map(micros);
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, name(value.value)),
    element("td", { class: "violin" }, violin(value)),
    ...[count(value.hosts), count(value.n), ...times].map((text, i) =>
      element("td", { class: numberClass(i), title: text === "–" ? at(COLUMNS, i)[1] : null }, text),
    ),
  );
}

function numberClass(column: number): string {
  return [0, 1, 4].includes(column) ? "number optional" : "number";
}

function violin(value: Value): SVGElement {
  const mark = (place: number, kind: string): SVGElement =>
    svg("line", { class: kind, x1: place * WIDTH, x2: place * WIDTH, y1: 2, y2: HEIGHT - 2 });
  return svg(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    svg("polygon", { points: outlinePoints(value.density, WIDTH, HEIGHT) }),
    mark(value.p50_at, "p50"),
    mark(value.p95_at, "p95"),
  );
}

function axis({ ticks }: Attribute): HTMLElement {
  const labels = ticks.map((tick) => {
    const label = element("span", {}, tick.label);
    label.style.left = `${100 * tick.at}%`;
    return label;
  });
  return element("div", { class: "ticks", "aria-hidden": "true" }, ...labels);
}

/** What is not drawn, and why. */
function notes({ few, left_out, unknown }: Attribute): Child[] {
  const found: Child[] = [];
  if (few.length) {
    const items = few.flatMap(({ value, n, missing }, i) => [
      i ? ", " : "Too few to draw: ",
      name(value),
      ` has ${observations(n)}, ${count(missing)} more needed`,
    ]);
    found.push(element("p", { class: "quiet hint" }, ...items, "."));
  }
  const rest = [
    left_out ? `${count(left_out)} more ${left_out === 1 ? "value is" : "values are"} not listed` : "",
    unknown ? `${observations(unknown)} on hosts of which this is not known` : "",
  ].filter(Boolean);
  if (rest.length) found.push(element("p", { class: "quiet hint" }, `${rest.join("; ")}.`));
  return found;
}

function observations(n: number): string {
  return `${count(n)} ${n === 1 ? "observation" : "observations"}`;
}
