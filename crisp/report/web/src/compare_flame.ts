// The differential flame graph: as wide as one group, coloured by what changed, with its legend.

import type { CallTree, Frame } from "./calls.js";
import { type Chart, createChart } from "./chart.js";
import {
  type By,
  doubtful,
  limitOf,
  type Means,
  ownChange,
  type Pair,
  type PathChange,
  stepOf,
  STEPS,
  weightOf,
} from "./compare_pair.js";
import { amount, signed, withInterval } from "./compare_words.js";
import { at } from "./data.js";
import { element, isolated } from "./dom.js";
import { count, micros, share } from "./units.js";

export interface CompareFlame {
  show(pair: Pair, by: By, wide: Means): void;
  zoom(row: number): void;
}

interface Shown {
  pair: Pair;
  by: By;
  wide: Means;
  limit: number;
  listed: Map<number, PathChange>;
}

export function createCompareFlame(
  place: HTMLElement,
  legend: HTMLElement,
  tree: CallTree,
  onZoom: (row: number) => void,
): CompareFlame {
  let shown: Shown | null = null;
  const chart: Chart = createChart(
    place,
    tree,
    {
      label: (frame) => (shown ? label(shown, frame) : frame.name),
      colour: (frame) => colourOf(shown ? step(shown, frame.row) : 0),
      facts: (frame) => (shown ? facts(shown, frame.row) : []),
    },
    onZoom,
  );
  return {
    show: (pair, by, wide) => {
      const listed = new Map(pair.changes.map((change) => [change.row, change]));
      shown = { pair, by, wide, limit: limitOf(pair, by), listed };
      chart.show(wide.total, summary(pair));
      legend.replaceChildren(...legendOf(shown));
    },
    zoom: chart.zoom,
  };
}

function label({ pair, by, wide }: Shown, frame: Frame): string {
  const total = at(wide.total, frame.row);
  const part = by === "time" ? micros(total) : share(wide.latency ? total / wide.latency : 0);
  const change = ownChange(pair, frame.row, by);
  return `${isolated(frame.name)} · ${part} · itself ${signed(change, by)}`;
}

function step({ pair, by, limit, listed }: Shown, row: number): number {
  const change = listed.get(row)?.[by];
  return change && !doubtful(change) ? stepOf(weightOf(pair, change.value, by), limit) : 0;
}

/** A style-sheet variable: blue for less, orange for more, grey for what may be noise. */
export function colourOf(step: number): string {
  if (step === 0) return "var(--change-none)";
  return `var(--change-${step < 0 ? "less" : "more"}-${Math.abs(step)})`;
}

function facts({ pair, by, listed }: Shown, row: number): [string, string][] {
  const own = (means: Means): string => {
    const time = at(means.own, row);
    return amount(by === "time" ? time : means.latency ? time / means.latency : 0, by);
  };
  const lines: [string, string][] = [
    [`itself in A, ${isolated(pair.a.group.label)}`, own(pair.a)],
    [`itself in B, ${isolated(pair.b.group.label)}`, own(pair.b)],
  ];
  const change = listed.get(row)?.[by];
  const value = change ? withInterval(change, by) : signed(ownChange(pair, row, by), by);
  lines.push(["change", value], ["how sure", certainty(change, pair.changes.length)]);
  const below = (means: Means): string => micros(at(means.total, row));
  lines.push(["with all below", `${below(pair.a)} → ${below(pair.b)}`]);
  return lines;
}

function certainty(change: { interval: unknown } | undefined, listed: number): string {
  if (!change) return `not among the ${count(listed)} surest changes`;
  if (!change.interval) return "unknown: too few traces kept";
  return doubtful(change as Parameters<typeof doubtful>[0])
    ? "could be noise: the interval holds 0"
    : "clear: the interval leaves 0 out";
}

function legendOf({ pair, by, limit }: Shown): HTMLElement[] {
  const steps = Array.from({ length: 2 * STEPS + 1 }, (_, i) => i - STEPS);
  const swatches = steps.map((step) => {
    const swatch = element("span", { class: "step" });
    swatch.style.background = colourOf(step);
    return swatch;
  });
  const full = share(limit).replace(".0 %", " %");
  const meaning =
    by === "time"
      ? `The strongest colours stand for ${full} of the mean latency of A, ${micros(limit * pair.a.latency)}, or more.`
      : `The strongest colours stand for ${full.replace("%", "points")} of share or more.`;
  return [
    element("span", {}, "less of its own time in B"),
    element("span", { class: "steps", "aria-hidden": "true" }, ...swatches),
    element("span", {}, "more in B"),
    element("span", {}, `Grey: unchanged, or the change could be noise. ${meaning}`),
  ];
}

function summary(pair: Pair): string {
  const name = (means: Means): string => `${isolated(means.group.label)}, mean ${micros(means.latency)}`;
  return `Differential flame graph from ${name(pair.a)}, to ${name(pair.b)}. The table below holds the surest changes.`;
}
