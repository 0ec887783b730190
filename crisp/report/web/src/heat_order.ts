// Which rows and columns the heat map shows, in which order, and how dark a cell is. Pure.

import { at } from "./data.js";
import { type Heat, heldBy, type Metric, type Percentile, percentiles } from "./heat_data.js";

/** Rows by a percentile, largest first; ties keep their order, which is by exclusive time. */
export function rowOrder(
  heat: Heat,
  metric: Metric,
  sort: Percentile,
  shown: (row: number) => boolean,
): number[] {
  const by = percentiles(heat, metric, sort);
  const rows = [...heat.rows.name.keys()].filter(shown);
  return rows.sort((a, b) => at(by, b) - at(by, a) || a - b);
}

/** Traces of the bands, null for all, by what a row holds in them or, for null, by latency. */
export function columnOrder(
  heat: Heat,
  metric: Metric,
  bands: readonly number[] | null,
  row: number | null,
): number[] {
  const { band } = heat.traces;
  const columns = [...band.keys()].filter((trace) => bands?.includes(at(band, trace)) ?? true);
  if (row === null) return columns;
  const held = new Map(columns.map((trace) => [trace, heldBy(heat, metric, trace, row)]));
  return columns.sort((a, b) => (held.get(b) ?? 0) - (held.get(a) ?? 0) || a - b);
}

/** Where the colours change, as parts of the latency; heat.html.jinja says the same in words. */
const EDGES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/** Colours of cells: none, and one more than there are edges. */
export const LEVELS = EDGES.length + 2;

/** How dark a cell is: 0 for no time, then 1 to 7 by its part of the latency. */
export function level(held: number, latency: number): number {
  if (held <= 0) return 0;
  const ratio = latency > 0 ? held / latency : 1;
  const edge = EDGES.findIndex((limit) => ratio < limit);
  return edge < 0 ? LEVELS - 1 : edge + 1;
}
