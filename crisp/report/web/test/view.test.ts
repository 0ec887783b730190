import { expect, test } from "vitest";

import { chosenText } from "../src/chooser.js";
import { frameColour } from "../src/colour.js";
import { isolated } from "../src/dom.js";
import { type Column, nextOrder, type Order, sorted } from "../src/grid.js";
import { filtered, filterFields, parseFilter } from "../src/listing.js";
import { runs, sparklineText } from "../src/sparkline.js";
import { traceAddress } from "../src/traces.js";
import { chosen, EVERYTHING, parseView, viewFields, withFields } from "../src/view.js";
import { SHOP } from "./shop.js";

test("a link restores the view, whatever the search term holds", () => {
  const view = { bands: [0, 3], zoom: "00ff", search: "a&b=#<svg> ü+ %" };
  expect(parseView(withFields("", viewFields(view)), 5)).toEqual(view);
  expect(withFields("", viewFields(EVERYTHING))).toBe("");
});

test("bands that do not exist are left out, none and all mean all", () => {
  expect(parseView("#bands=9,x,1,1,-2", 5).bands).toEqual([1]);
  expect(parseView("#bands=", 5).bands).toBeNull();
  expect(chosen([1, 0], 2)).toBeNull();
});

test("the chosen bands are named", () => {
  expect(chosenText(SHOP, [0, 1])).toBe("P0–P75 + P75–P100");
  expect(chosenText(SHOP, null)).toBe("all bands");
});

test("a listing's filter survives the address", () => {
  const filter = { search: "a b", service: "s&t", owner: "", order: { key: "p95", descending: true } };
  expect(parseFilter(withFields("", filterFields(filter)))).toEqual(filter);
  const all = { search: "", service: null, owner: null, order: null };
  expect(withFields("", filterFields(all))).toBe("");
});

test("a listing is filtered by literal text, by service and by owner", () => {
  const rows = [
    { service: "a", operation: "get(", owner: "x" },
    { service: "b", operation: "GET", owner: "" },
  ];
  const all = { search: "", service: null, owner: null };
  expect(filtered(rows, all)).toEqual(rows);
  expect(filtered(rows, { ...all, search: "get(" })).toEqual([rows[0]]);
  expect(filtered(rows, { ...all, search: " get ", service: "b" })).toEqual([rows[1]]);
  expect(filtered(rows, { ...all, owner: "" })).toEqual([rows[1]]);
  expect(filtered(rows, { ...all, owner: "x", service: "b" })).toEqual([]);
});

test("rows sort both ways, ties keep their order, nothing comes last", () => {
  interface Row { id: string; value: number | null }
  const by = (row: Row): number | null => row.value;
  const columns: Column<Row>[] = [
    { key: "v", title: "", hint: "", numeric: true, by, cell: () => [] },
  ];
  const rows = [["a", 1], ["b", null], ["c", 3], ["d", 1]].map(
    ([id, value]) => ({ id, value }) as Row,
  );
  const ids = (descending: boolean): string =>
    sorted(rows, columns, { key: "v", descending }).map((row) => row.id).join("");
  expect(ids(false)).toBe("adcb");
  expect(ids(true)).toBe("cadb");
});

test("a third click on a header restores the first order", () => {
  const clicks = (column: { key: string; numeric: boolean }, first: Order): Order[] => {
    const one = nextOrder(first, column, first);
    const two = nextOrder(one, column, first);
    return [one, two, nextOrder(two, column, first)];
  };
  const none = { key: "", descending: false };
  const p95 = { key: "p95", numeric: true };
  const falling = { key: "p95", descending: true };
  const rising = { key: "p95", descending: false };
  expect(clicks(p95, none)).toEqual([falling, rising, none]);
  expect(clicks({ key: "name", numeric: false }, none)[0]).toEqual({ key: "name", descending: false });
  expect(clicks(p95, falling)).toEqual([rising, falling, rising]);
  expect(clicks(p95, rising)).toEqual([falling, rising, falling]);
  expect(nextOrder({ key: "name", descending: true }, p95, rising)).toBe(rising);
});

test("a service keeps its hue, its operations differ in shade", () => {
  const hue = (colour: string): string => colour.replace(/-\d\)$/, "");
  expect(frameColour("cart", "get")).toBe(frameColour("cart", "get"));
  expect(hue(frameColour("cart", "get"))).toBe(hue(frameColour("cart", "put")));
  expect(frameColour("", "")).toMatch(/^var\(--frame-\d+-\d\)$/);
});

test("ids are escaped in the address of a trace", () => {
  const template = "https://jaeger/trace/{trace_id}?uiFind={span_id}";
  expect(traceAddress(template, "a/b", "{trace_id}")).toBe(
    "https://jaeger/trace/a%2Fb?uiFind=%7Btrace_id%7D",
  );
});

test("a day without traces breaks the line of a sparkline", () => {
  expect(runs([10, 0, null, 5], 10)).toEqual([["3.0,3.0", "33.0,23.0"], ["93.0,13.0"]]);
  expect(runs([4], 4)).toEqual([["48.0,3.0"]]);
  expect(sparklineText(["2026-01-01", "2026-01-02"], [1_000, null], [2_000, null])).toBe(
    "2026-01-01: P50 1.00 ms, P95 2.00 ms\n2026-01-02: P50 –, P95 –",
  );
});

test("a right-to-left name does not turn the text after it", () => {
  expect(isolated("plain ü 🔥")).toBe("plain ü 🔥");
  expect(isolated("\u202egnp.exe")).toBe("\u2068\u202egnp.exe\u2069");
  expect(isolated("שלום")).toBe("\u2068שלום\u2069");
});
