// The rows of the heat map as numbers.

import { at, type EndpointData } from "./data.js";
import { element, name } from "./dom.js";
import { type Column, createGrid, type Grid } from "./grid.js";
import { type Heat, type Metric, type Percentile, percentiles } from "./heat_data.js";
import { SORTS } from "./heat_state.js";
import { chainLines, noRows } from "./heat_words.js";
import { micros } from "./units.js";

const TITLES: Record<Metric, string> = { exclusive: "itself", inclusive: "with all below" };

export function createHeatTable(
  place: HTMLElement,
  data: EndpointData,
  heat: Heat,
  onSort: (row: number) => void,
): Grid<number> {
  const number = (metric: Metric, sort: Percentile): Column<number> => {
    const values = percentiles(heat, metric, sort);
    return {
      key: `${metric}-${sort}`,
      title: `${sort.toUpperCase()} ${TITLES[metric]}`,
      hint: `${sort.toUpperCase()} over all traces of the time it holds the critical path ${TITLES[metric]}; absent counts as 0`,
      numeric: true,
      optional: sort === "p99",
      by: (row) => at(values, row),
      cell: (row) => [micros(at(values, row))],
    };
  };
  const endpoint: Column<number> = {
    key: "endpoint",
    title: "Endpoint",
    hint: "all call paths that lead to it are one row",
    numeric: false,
    cell: (row) => {
      const [service, operation] = at(data.names, at(heat.rows.name, row));
      return [name(operation), name(service, "service")];
    },
  };
  return createGrid<number>(place, {
    columns: [
      endpoint,
      ...SORTS.map((sort) => number("exclusive", sort)),
      ...SORTS.map((sort) => number("inclusive", sort)),
    ],
    order: { key: "exclusive-p50", descending: true },
    page: 25,
    empty: noRows(heat),
    rowKey: String,
    details: (row) => {
      const sort = element("button", { type: "button" }, "Sort the columns by this row");
      sort.addEventListener("click", () => {
        onSort(row);
      });
      const chains = chainLines(data, heat, row).map(([chain, share]) =>
        element("li", {}, element("bdi", {}, chain), ` · ${share}`),
      );
      const title = element("h4", {}, "Call chains, with their share of the time it holds itself");
      return [element("div", { class: "detail" }, element("div", {}, title, element("ol", {}, ...chains), sort))];
    },
  });
}
