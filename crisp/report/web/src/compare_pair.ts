// Two groups of traces side by side: means, changes, intervals. Pure; rows come parents first.

import { type CallTree, withDescendants } from "./calls.js";
import { at, type Cells } from "./data.js";

/** Groups of traces and what Python found changed between any two of one kind. */
export interface Changes {
  /** Traces below which a group is thin. */
  thin: number;
  groups: Group[];
  /** By kind, the pair to show first. */
  first: Record<string, [number, number]>;
  pairs: PairChanges[];
}

export interface Group {
  kind: string;
  label: string;
  traces: number;
  latency_us: number;
  /** Traces that are missing for it not to be thin. */
  missing: number;
  /** Of its traces, those kept whole. */
  kept: number;
  /** Exclusive time by call path where it is not 0; null for bands, whose times are with the tree. */
  sums: { path: number[]; exclusive_us: number[] } | null;
}

/** Changes from group a to group b, the surest first; ends of intervals are null where unknown. */
export interface PairChanges {
  a: number;
  b: number;
  change_us: number;
  low_us: number | null;
  high_us: number | null;
  changes: {
    path: number[];
    change_us: number[];
    low_us: (number | null)[];
    high_us: (number | null)[];
    share: number[];
    share_low: (number | null)[];
    share_high: (number | null)[];
  };
}

/** A change and where it may lie instead, in µs or as part of the latency. */
export interface Change {
  value: number;
  interval: [low: number, high: number] | null;
}

export interface PathChange {
  row: number;
  time: Change;
  share: Change;
}

/** One group over the tree: per request, in µs. */
export interface Means {
  group: Group;
  latency: number;
  own: Float64Array;
  total: Float64Array;
}

export interface Pair {
  a: Means;
  b: Means;
  latency: Change;
  /** The surest changes of call paths, the surest first. */
  changes: PathChange[];
}

export type By = "time" | "share";

/** Two groups in either order; their changes are known in one of them. */
export function pairOf(
  tree: CallTree,
  changes: Changes,
  bandSums: Cells,
  a: number,
  b: number,
): Pair | null {
  const found = changes.pairs.find((pair) => pair.a === Math.min(a, b) && pair.b === Math.max(a, b));
  if (!found) return null;
  const sign = a < b ? 1 : -1;
  const { path, change_us, low_us, high_us, share, share_low, share_high } = found.changes;
  return {
    a: meansOf(tree, changes, bandSums, a),
    b: meansOf(tree, changes, bandSums, b),
    latency: change(sign, found.change_us, found.low_us, found.high_us),
    changes: path.map((row, i) => ({
      row,
      time: change(sign, at(change_us, i), at(low_us, i), at(high_us, i)),
      share: change(sign, at(share, i), at(share_low, i), at(share_high, i)),
    })),
  };
}

function change(sign: number, value: number, low: number | null, high: number | null): Change {
  if (low === null || high === null) return { value: sign * value, interval: null };
  return { value: sign * value, interval: sign > 0 ? [low, high] : [-high, -low] };
}

function meansOf(tree: CallTree, changes: Changes, bandSums: Cells, number: number): Means {
  const group = at(changes.groups, number);
  const own = new Float64Array(tree.paths.id.length);
  if (group.sums) {
    const { path, exclusive_us } = group.sums;
    path.forEach((row, i) => (own[row] = at(exclusive_us, i)));
  } else {
    own.set(at(bandSums, number)); // bands come first, in the order of the tree's
  }
  const total = withDescendants(own, tree.paths.parent); // of whole numbers: nothing is rounded
  const mean = (time: number): number => time / group.traces;
  return { group, latency: mean(group.latency_us), own: own.map(mean), total: total.map(mean) };
}

/** How a path's own time differs, whether or not Python lists it. */
export function ownChange(pair: Pair, row: number, by: By): number {
  const part = (means: Means): number =>
    by === "time" ? at(means.own, row) : means.latency ? at(means.own, row) / means.latency : 0;
  return part(pair.b) - part(pair.a);
}

/** Whether a change could be noise: its interval holds 0, or nothing says how sure it is. */
export function doubtful(change: Change): boolean {
  return change.interval === null || (change.interval[0] <= 0 && change.interval[1] >= 0);
}

/** A change as a part of the mean latency of the first group. */
export function weightOf(pair: Pair, value: number, by: By): number {
  return by === "share" ? value : pair.a.latency ? value / pair.a.latency : 0;
}

const LIMITS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100];

/** The part of the latency that has the strongest colour: never so little that noise would glow. */
export function limitOf(pair: Pair, by: By): number {
  const weights = pair.changes
    .filter((found) => !doubtful(found[by]))
    .map((found) => Math.abs(weightOf(pair, found[by].value, by)));
  const largest = Math.max(0, ...weights);
  return LIMITS.find((limit) => limit >= largest) ?? at(LIMITS, LIMITS.length - 1);
}

export const STEPS = 5;

/** The colour of a change, from -STEPS for the largest gain to STEPS; 0 for what may be noise. */
export function stepOf(weight: number, limit: number): number {
  const exact = (Math.abs(weight) / limit) * STEPS;
  const step = Math.max(0, Math.min(STEPS, Math.ceil(exact - 1e-9))); // 1e-9: 0.06 / 0.1 is over 0.6
  return weight < 0 ? 0 - step : step;
}

export interface OneSided {
  row: number;
  /** Per request, with all paths below it. */
  total: number;
  /** Call paths below it, which are one-sided too. */
  below: number;
}

/** Call paths that only `there` has, where they begin; the longest first. */
export function onlyIn(tree: CallTree, there: Means, elsewhere: Means): OneSided[] {
  const { parent } = tree.paths;
  const missing = (row: number): boolean => at(elsewhere.total, row) === 0;
  const found = new Map<number, OneSided>();
  const under = new Map<number, OneSided>();
  there.total.forEach((total, row) => {
    if (total === 0 || !missing(row)) return;
    const top = under.get(at(parent, row));
    const mine = top ?? { row, total, below: -1 };
    mine.below += 1;
    under.set(row, mine);
    if (!top) found.set(row, mine);
  });
  return [...found.values()].sort((one, two) => two.total - one.total || one.row - two.row);
}
