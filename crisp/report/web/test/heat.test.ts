import { expect, test } from "vitest";

import { at } from "../src/data.js";
import { type Heat, heatOf, heldBy } from "../src/heat_data.js";
import { columnOrder, level, LEVELS, rowOrder } from "../src/heat_order.js";
import { packed } from "../src/heat_picture.js";
import { heatFields, parseHeat } from "../src/heat_state.js";
import { cellLines, cellSentence, chainLines, noRows, rowLines } from "../src/heat_words.js";
import { withFields } from "../src/view.js";
import { SHOP } from "./shop.js";

/** Rows are db::read, shop::buy and price::quote; traces last 50, 30 and 20 ms, two of them slow. */
const HEAT: Heat = heatOf({
  total: 3,
  missing: 17,
  left_out: 0,
  traces: {
    trace_id: ["t0", "t1", "t2"],
    span_id: ["s0", "s1", "s2"],
    start_us: [0, 0, 0],
    latency_us: [50_000, 30_000, 20_000],
    band: [1, 1, 0],
    error: [false, true, false],
  },
  rows: {
    name: [2, 0, 3],
    exclusive_p50_us: [20_000, 10_000, 0],
    exclusive_p95_us: [29_000, 10_000, 29_000],
    exclusive_p99_us: [30_000, 10_000, 40_000],
    inclusive_p50_us: [20_000, 30_000, 0],
    inclusive_p95_us: [29_000, 48_000, 29_000],
    inclusive_p99_us: [30_000, 50_000, 40_000],
    chains: [[2], [0], [3]],
    shares: [[1], [1], [null]],
  },
  cells: {
    first: [0, 3, 5, 6],
    row: [0, 1, 2, 0, 1, 1],
    exclusive_us: [10_000, 10_000, 30_000, 20_000, 10_000, 0],
    inclusive_us: [10_000, 50_000, 30_000, 20_000, 30_000, 20_000],
  },
});
const every = (): boolean => true;

test("a row holds nothing in a trace where it has no cell", () => {
  expect([0, 1, 2].map((row) => heldBy(HEAT, "exclusive", 0, row))).toEqual([10_000, 10_000, 30_000]);
  expect(heldBy(HEAT, "exclusive", 1, 2)).toBe(0);
  expect(heldBy(HEAT, "inclusive", 2, 1)).toBe(20_000);
});

test("rows come by the percentile and the time that are chosen, equal ones as they were", () => {
  expect(rowOrder(HEAT, "exclusive", "p50", every)).toEqual([0, 1, 2]);
  expect(rowOrder(HEAT, "exclusive", "p95", every)).toEqual([0, 2, 1]);
  expect(rowOrder(HEAT, "exclusive", "p99", every)).toEqual([2, 0, 1]);
  expect(rowOrder(HEAT, "inclusive", "p50", every)).toEqual([1, 0, 2]);
  expect(rowOrder(HEAT, "inclusive", "p50", (row) => row !== 0)).toEqual([1, 2]);
});

test("columns come by latency or by a row, high to low, of the chosen bands alone", () => {
  expect(columnOrder(HEAT, "exclusive", null, null)).toEqual([0, 1, 2]);
  expect(columnOrder(HEAT, "exclusive", null, 0)).toEqual([1, 0, 2]);
  expect(columnOrder(HEAT, "exclusive", null, 1)).toEqual([0, 1, 2]);
  expect(columnOrder(HEAT, "exclusive", [1], 0)).toEqual([1, 0]);
  expect(columnOrder(HEAT, "exclusive", [0], null)).toEqual([2]);
});

test("a cell is as dark as its part of the latency, and no time is a colour of its own", () => {
  const of100 = (held: number): number => level(held, 100);
  expect([0, 0.99, 1, 1.99, 2, 5, 10, 20, 49.9, 50, 100].map(of100)).toEqual([
    0, 1, 2, 2, 3, 4, 5, 6, 6, 7, 7,
  ]);
  expect(level(1, 0)).toBe(LEVELS - 1);
  expect(packed("#fd0a01")).toBe(0xff010afd); // alpha, blue, green, red
});

test("a link restores the heat map, whatever the names hold", () => {
  const state = { metric: "inclusive", sort: "p99", row: 2, search: "a&b #" } as const;
  const hash = withFields("#bands=1", heatFields(state, SHOP, HEAT));
  expect(parseHeat(hash, SHOP, HEAT)).toEqual(state);
  const first = parseHeat("#heat-metric=x&heat-sort=p1&heat-row=no::such", SHOP, HEAT);
  expect(first).toEqual({ metric: "exclusive", sort: "p50", row: null, search: "" });
  expect(withFields("#bands=1", heatFields(first, SHOP, HEAT))).toBe("#bands=1");
});

test("no row is nobody's fault but the search's, unless there is none at all", () => {
  expect(noRows(HEAT)).toBe("No endpoint matches.");
  const none = { ...HEAT, rows: { ...HEAT.rows, name: [] } };
  expect(noRows(none)).toBe("No endpoint holds time in these traces.");
});

test("a cell tells its time, the trace, and the chains to its row", () => {
  expect(cellLines(SHOP, HEAT, "exclusive", 1, 0)).toEqual([
    ["held itself", "20.0 ms · 66.7 %"],
    ["latency of the trace", "30.0 ms"],
    ["band", "P75–P100"],
    ["started", "1970-01-01 00:00:00 UTC"],
    ["the request", "failed"],
    ["trace", "t1"],
    ["call chains", "share of its own time"],
    ["buy › get › read", "100 %"],
  ]);
  expect(cellSentence(SHOP, HEAT, "inclusive", 0, 1)).toBe(
    "shop::buy: 50.0 ms held with all below, 100 % of 50.0 ms, band P75–P100, trace ",
  );
});

test("a row tells its percentiles, and chains without own time have no share", () => {
  expect(rowLines(SHOP, HEAT, "inclusive", 1).slice(0, 3)).toEqual([
    ["P50 held with all below", "30.0 ms"],
    ["P95 held with all below", "48.0 ms"],
    ["P99 held with all below", "50.0 ms"],
  ]);
  expect(chainLines(SHOP, HEAT, 2)).toEqual([["buy › quote [a-z", "–"]]);
});

test("of a long chain the first and the last four calls are named", () => {
  const parent = [-1, 0, 1, 2, 3, 4];
  const deep = { ...SHOP, paths: { id: ["a", "b", "c", "d", "e", "f"], parent, name: [0, 1, 2, 1, 2, 1] } };
  const heat = { ...HEAT, rows: { ...HEAT.rows, chains: [[5]], shares: [[1]] } };
  expect(at(chainLines(deep, heat, 0), 0)[0]).toBe("buy › … › read › get › read › get");
});
