// Sums over bands and over subtrees of a calling context tree. Pure; rows come parents first.

import { at, type Cells, type EndpointData } from "./data.js";

/** Call paths with their names. */
export type CallTree = Pick<EndpointData, "names" | "paths" | "depth" | "marks">;

/** Sums over the chosen bands, one number per call path. Whole microseconds: nothing is rounded. */
export interface Sums {
  /** Traces of the chosen bands; divide by it for "per request". */
  requests: number;
  /** Time the path itself holds the critical path. */
  own: Float64Array;
  /** The same with all paths below it; row 0 is the latency of all chosen traces. */
  total: Float64Array;
  /** Traces with the path on the critical path; of these, with an error in it. */
  traces: Float64Array;
  errors: Float64Array;
}

export function sums(data: EndpointData, bands: readonly number[]): Sums {
  const own = overBands(data.cells.exclusive_us, bands, data.paths.id.length);
  return {
    requests: bands.reduce((all, band) => all + at(data.bands, band).traces, 0),
    own,
    total: withDescendants(own, data.paths.parent),
    traces: overBands(data.cells.traces, bands, own.length),
    errors: overBands(data.cells.error_traces, bands, own.length),
  };
}

function overBands(cells: Cells, bands: readonly number[], rows: number): Float64Array {
  const found = new Float64Array(rows);
  for (const band of bands) {
    at(cells, band).forEach((value, row) => {
      found[row] = (found[row] ?? 0) + value;
    });
  }
  return found;
}

/** Times with those of all paths below added. */
export function withDescendants(own: Float64Array, parent: readonly number[]): Float64Array {
  const total = own.slice();
  for (let row = total.length - 1; row > 0; row--) {
    const above = at(parent, row);
    total[above] = at(total, above) + at(total, row);
  }
  return total;
}

/** Level of each row, 0 for the root. */
export function levels(parent: readonly number[]): Int32Array {
  const found = new Int32Array(parent.length);
  for (let row = 1; row < parent.length; row++) found[row] = at(found, at(parent, row)) + 1;
  return found;
}

/** Rows from the root down to a row. */
export function chain(parent: readonly number[], row: number): number[] {
  const found = [];
  for (let at_ = row; at_ >= 0; at_ = at(parent, at_)) found.push(at_);
  return found.reverse();
}

/** Which endpoint names hold the term, letter case aside; the term is literal. */
export function matchingNames(data: EndpointData, term: string): boolean[] {
  const wanted = term.toLowerCase();
  return data.names.map(
    ([service, operation]) =>
      wanted !== "" && `${service}::${operation}`.toLowerCase().includes(wanted),
  );
}

/** Time of the matching paths and all below them, none counted twice. */
export function matchedTime(data: EndpointData, total: Float64Array, names: boolean[]): number {
  const covered = new Uint8Array(total.length);
  let time = 0;
  for (let row = 0; row < total.length; row++) {
    const above = at(data.paths.parent, row);
    const inside = above >= 0 && covered[above] === 1;
    const hit = names[at(data.paths.name, row)] === true;
    if (hit && !inside) time += at(total, row);
    covered[row] = hit || inside ? 1 : 0;
  }
  return time;
}

/** One frame for d3-flame-graph; it adds `hide` and `fade` to it when zooming. */
export interface Frame {
  row: number;
  name: string;
  value: number;
  children: Frame[];
}

/** The tree as nested frames down to a level, beyond which the library's recursion would break. */
export function frames(data: CallTree, total: Float64Array, levelLimit: number): Frame {
  const level = levels(data.paths.parent);
  const made: (Frame | undefined)[] = [];
  for (let row = 0; row < total.length; row++) {
    if (at(level, row) >= levelLimit) continue;
    const [service, operation] = at(data.names, at(data.paths.name, row));
    const frame = { row, name: `${service}::${operation}`, value: at(total, row), children: [] };
    made[row] = frame;
    if (row > 0) made[at(data.paths.parent, row)]?.children.push(frame);
  }
  const root = made[0];
  if (!root) throw new RangeError("a tree without paths has no frames");
  return root;
}
