import { expect, test } from "vitest";

import { chain, frames, levels, matchedTime, matchingNames, sums } from "../src/calls.js";
import { facts } from "../src/flame.js";
import { SHOP } from "./shop.js";

test("the root's total over the chosen bands is their mean latency exactly", () => {
  const mean = (bands: number[]): number => {
    const found = sums(SHOP, bands);
    return (found.total[0] ?? 0) / found.requests;
  };
  expect(mean([0])).toBe(10_000);
  expect(mean([1])).toBe(40_000);
  expect(mean([0, 1])).toBe(17_500);
});

test("bands add up, and a total is a path with all below it", () => {
  const found = sums(SHOP, [0, 1]);
  expect([...found.own]).toEqual([110_000, 90_000, 400_000, 100_000]);
  expect([...found.total]).toEqual([700_000, 490_000, 400_000, 100_000]);
  expect([...found.traces]).toEqual([40, 30, 40, 5]);
  expect([...found.errors]).toEqual([0, 0, 1, 2]);
});

test("a search term is literal, whatever a pattern would make of it", () => {
  expect(matchingNames(SHOP, "[A-Z")).toEqual([false, false, false, true]);
  expect(matchingNames(SHOP, ".")).toEqual([false, false, false, false]);
  expect(matchingNames(SHOP, "")).toEqual([false, false, false, false]);
  expect(matchingNames(SHOP, "t::G")).toEqual([false, true, false, false]);
});

test("matched time counts calls below a matching call once", () => {
  const { total } = sums(SHOP, [0, 1]);
  expect(matchedTime(SHOP, total, [false, true, true, false])).toBe(490_000);
  expect(matchedTime(SHOP, total, [false, false, true, true])).toBe(500_000);
  expect(matchedTime(SHOP, total, [true, true, true, true])).toBe(700_000);
});

test("frames nest as the paths do and stop at the level limit", () => {
  const { total } = sums(SHOP, [1]);
  const root = frames(SHOP, total, 2);
  expect(root.value).toBe(400_000);
  expect(root.children.map((frame) => [frame.name, frame.value, frame.children.length])).toEqual([
    ["cart::get", 250_000, 0],
    ["price::quote [a-z", 100_000, 0],
  ]);
});

test("a chain of 100,000 calls is summed and cut without recursion", () => {
  const depth = 100_000;
  const rows = [...Array(depth).keys()];
  const ones = [rows.map(() => 1)];
  const long = {
    ...SHOP,
    bands: SHOP.bands.slice(0, 1),
    paths: { id: rows.map(String), parent: rows.map((row) => row - 1), name: rows.map(() => 0) },
    cells: { exclusive_us: ones, traces: ones, error_traces: ones, spans: ones },
  };
  const { total } = sums(long, [0]);
  expect(total[0]).toBe(depth);
  expect(levels(long.paths.parent).at(-1)).toBe(depth - 1);
  expect(frames(long, total, 200).value).toBe(depth);
});

test("the chain of a path starts at the root", () => {
  expect(chain(SHOP.paths.parent, 2)).toEqual([0, 1, 2]);
});

test("the tooltip tells time, share and traces of the chosen bands", () => {
  expect(facts(SHOP, sums(SHOP, [1]), 3)).toEqual([
    ["with all below", "10.0 ms · 25.0 %"],
    ["itself", "10.0 ms · 25.0 %"],
    ["on the path in", "5 of 10 traces"],
    ["with an error in", "2 traces"],
    ["level", "2"],
  ]);
});
