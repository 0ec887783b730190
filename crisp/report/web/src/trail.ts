// The calls from the root to the zoomed one; each is a button that zooms out to it.

import { chain } from "./calls.js";
import { at, type EndpointData } from "./data.js";
import { element } from "./dom.js";

const NEAR = 4; // calls shown before the zoomed one; the root is always shown

export interface Trail {
  show(row: number): void;
}

export function createTrail(
  place: HTMLElement,
  data: EndpointData,
  onZoom: (row: number) => void,
): Trail {
  const step = (row: number, last: boolean): HTMLElement => {
    const text = at(data.names, at(data.paths.name, row))[1] || "(no name)";
    if (last) return element("b", {}, element("bdi", {}, text));
    const button = element("button", { type: "button" }, element("bdi", {}, text));
    button.addEventListener("click", () => {
      onZoom(row);
    });
    return button;
  };
  return {
    show: (row) => {
      const rows = chain(data.paths.parent, row);
      const near = rows.length > NEAR + 2 ? [0, ...rows.slice(-NEAR - 1)] : rows;
      const parts = near.map((each, i) => step(each, i === near.length - 1));
      if (near.length < rows.length) {
        parts.splice(1, 0, element("span", { class: "quiet" }, `… ${rows.length - near.length} more …`));
      }
      place.replaceChildren(...(row === 0 ? [element("span", { class: "quiet" }, "whole request")] : parts));
    },
  };
}
