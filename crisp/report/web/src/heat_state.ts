// What the heat map shows, and how the address says it.

import { at, type EndpointData } from "./data.js";
import type { Heat, Metric, Percentile } from "./heat_data.js";
import { addressFields, type Fields } from "./view.js";

export interface HeatState {
  metric: Metric;
  /** Percentile that rows are sorted by. */
  sort: Percentile;
  /** Row that columns are sorted by, null for by latency. */
  row: number | null;
  search: string;
}

export const SORTS: readonly Percentile[] = ["p50", "p95", "p99"];

/** The state an address hash asks for; what it says wrongly is left out. */
export function parseHeat(hash: string, data: EndpointData, heat: Heat): HeatState {
  const fields = addressFields(hash);
  const wanted = fields.get("heat-row");
  const row = wanted === null ? -1 : heat.rows.name.findIndex((name) => title(data, name) === wanted);
  return {
    metric: fields.get("heat-metric") === "inclusive" ? "inclusive" : "exclusive",
    sort: SORTS.find((sort) => sort === fields.get("heat-sort")) ?? "p50",
    row: row < 0 ? null : row,
    search: fields.get("heat-search") ?? "",
  };
}

/** The fields of a state in the address; those of the first state are null. */
export function heatFields(state: HeatState, data: EndpointData, heat: Heat): Fields {
  return {
    "heat-metric": state.metric === "exclusive" ? null : state.metric,
    "heat-sort": state.sort === "p50" ? null : state.sort,
    "heat-row": state.row === null ? null : title(data, at(heat.rows.name, state.row)),
    "heat-search": state.search || null,
  };
}

/** Service and operation in one. */
export function title(data: EndpointData, name: number): string {
  const [service, operation] = at(data.names, name);
  return `${service}::${operation}`;
}
