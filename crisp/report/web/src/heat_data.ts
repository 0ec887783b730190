// What the heat map is drawn from: kept traces, endpoints on their critical paths, and cells.

import { at } from "./data.js";

export type Metric = "exclusive" | "inclusive";
export type Percentile = "p50" | "p95" | "p99";

/** The part `heat` of an endpoint page, as Python writes it. Rows come by their exclusive time. */
export interface HeatPart {
  total: number;
  missing: number;
  left_out: number;
  /** Slowest first. */
  traces: {
    trace_id: string[];
    span_id: string[];
    start_us: number[];
    latency_us: number[];
    band: number[];
    error: boolean[];
  };
  rows: Record<`${Metric}_${Percentile}_us`, number[]> & {
    /** Which of the endpoint's names. */
    name: number[];
    /** Call paths to it, at most five, and their shares of its exclusive time. */
    chains: number[][];
    shares: (number | null)[][];
  };
  cells: { first: number[]; row: number[]; exclusive_us: number[]; inclusive_us: number[] };
}

/** The same with its cells in typed arrays; those of trace i are at first[i] up to first[i + 1]. */
export interface Heat extends Omit<HeatPart, "cells"> {
  first: Int32Array;
  row: Int32Array;
  exclusive: Float64Array;
  inclusive: Float64Array;
}

export function heatOf(part: HeatPart): Heat {
  const { cells, ...rest } = part;
  return {
    ...rest,
    first: Int32Array.from(cells.first),
    row: Int32Array.from(cells.row),
    exclusive: Float64Array.from(cells.exclusive_us),
    inclusive: Float64Array.from(cells.inclusive_us),
  };
}

/** What a row holds in a trace, in microseconds; 0 where it has no cell. */
export function heldBy(heat: Heat, metric: Metric, trace: number, row: number): number {
  const end = at(heat.first, trace + 1);
  for (let cell = at(heat.first, trace); cell < end; cell++) {
    if (heat.row[cell] === row) return at(heat[metric], cell);
  }
  return 0;
}

export function percentiles(heat: Heat, metric: Metric, which: Percentile): number[] {
  return heat.rows[`${metric}_${which}_us`];
}
