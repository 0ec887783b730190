import { expect, test } from "vitest";

import { type Alert, type AlertFilter, alertsShown, parseAlertFilter, unfolds } from "../src/anomalies.js";
import { facts } from "../src/flame.js";
import { sums } from "../src/calls.js";
import { rowsAtFirst } from "../src/judged.js";
import { markOf } from "../src/marks.js";
import { SHOP } from "./shop.js";

const ALERT: Alert = {
  service: "shop",
  operation: "buy",
  status: "firing",
  severity: "critical",
  change_us: 40_000,
  ratio: 0.1,
  nights: 1,
};
const ALERTS: Alert[] = [
  ALERT,
  { ...ALERT, operation: "look [a-z", severity: "warning", change_us: -50_000, ratio: null },
  { ...ALERT, service: "cart", operation: "add", status: "silenced", change_us: 40_000, ratio: 2, nights: 5 },
];
const ALL: AlertFilter = { search: "", service: null, severity: null, status: null, sort: null };

test("alerts are filtered by literal text, service, severity and status", () => {
  expect(alertsShown(ALERTS, ALL)).toEqual([0, 1, 2]);
  expect(alertsShown(ALERTS, { ...ALL, search: " SHOP::LOOK [" })).toEqual([1]);
  expect(alertsShown(ALERTS, { ...ALL, service: "cart" })).toEqual([2]);
  expect(alertsShown(ALERTS, { ...ALL, severity: "critical" })).toEqual([0, 2]);
  expect(alertsShown(ALERTS, { ...ALL, severity: "critical", status: "firing" })).toEqual([0]);
  expect(alertsShown(ALERTS, { ...ALL, search: "nothing" })).toEqual([]);
});

test("alerts are put in order, equal ones keep theirs", () => {
  const by = (sort: string): number[] => alertsShown(ALERTS, { ...ALL, sort });
  expect(by("change")).toEqual([1, 0, 2]); // a change for the better is as large
  expect(by("ratio")).toEqual([2, 0, 1]);
  expect(by("nights")).toEqual([2, 0, 1]);
  expect(by("name")).toEqual([2, 0, 1]);
  expect(by("unheard of")).toEqual([0, 1, 2]);
});

test("what is not firing is unfolded for whoever looks for it, or where nothing else is left", () => {
  const cart = { ...ALL, service: "cart" };
  expect(unfolds("silenced", false, cart)).toBe(true);
  expect(unfolds("silenced", true, cart)).toBe(false);
  expect(unfolds("resolved", false, { ...ALL, severity: "info" })).toBe(true);
  expect(unfolds("silenced", true, { ...ALL, search: "add" })).toBe(true);
  expect(unfolds("silenced", true, { ...ALL, status: "silenced" })).toBe(true);
  expect(unfolds("resolved", true, { ...ALL, status: "silenced" })).toBe(false);
  expect(unfolds("silenced", false, { ...ALL, search: " ", sort: "name" })).toBe(false); // no filter
});

test("the table of endpoints begins with those that have something to see", () => {
  expect(rowsAtFirst([])).toBe(10);
  expect(rowsAtFirst([0, 2, 3, 4, 4])).toBe(10);
  expect(rowsAtFirst([...Array<number>(17).fill(2), ...Array<number>(200).fill(3)])).toBe(17);
  expect(rowsAtFirst(Array<number>(100).fill(2))).toBe(25);
});

test("an address says what to show", () => {
  expect(parseAlertFilter("#search=a%3A%3Ab&severity=info&sort=change")).toEqual({
    ...ALL,
    search: "a::b",
    severity: "info",
    sort: "change",
  });
  expect(parseAlertFilter("")).toEqual(ALL);
});

test("a call that changed says so where its times are", () => {
  const tree = { ...SHOP, marks: { path: [2], label: ["▲ +40.0 ms"], note: ["time on the path"] } };
  expect(markOf(tree, 2)).toEqual({ label: "▲ +40.0 ms", note: "time on the path" });
  expect(markOf(tree, 1)).toBeNull();
  expect(markOf(SHOP, 2)).toBeNull();
  expect(facts(tree, sums(tree, [0, 1]), 2)).toContainEqual(["changed since the days before", "▲ +40.0 ms"]);
});
