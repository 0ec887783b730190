// The header of a row of the heat map: its names, and the percentile that rows are sorted by.

import { at, type EndpointData } from "./data.js";
import { element, name } from "./dom.js";
import { type Heat, type Percentile, percentiles } from "./heat_data.js";
import { ROW, type Shown, STRIP } from "./heat_picture.js";
import { micros } from "./units.js";

/** What the grid shows; `sorted` is the row that columns are sorted by. */
export interface GridShown extends Shown {
  sort: Percentile;
  sorted: number | null;
}

/** The header of `row`, which stands at `place`. */
export function heatHeader(
  data: EndpointData,
  heat: Heat,
  shown: GridShown,
  row: number,
  place: number,
): HTMLElement {
  const [service, operation] = at(data.names, at(heat.rows.name, row));
  const value = micros(at(percentiles(heat, shown.metric, shown.sort), row));
  const made = element(
    "div",
    { class: row === shown.sorted ? "heat-head sorted" : "heat-head" },
    element("span", {}, name(operation), name(service, "service")),
    element("b", {}, value),
  );
  made.style.top = `${STRIP + place * ROW}px`;
  return made;
}
