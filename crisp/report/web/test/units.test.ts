import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import { changed, count, micros, moment, share } from "../src/units.js";

type Case = [value: number | null, text: string];
const path = new URL("../../../../tests/report/units.json", import.meta.url);
const cases = JSON.parse(readFileSync(path, "utf8")) as Record<"micros" | "count" | "share", Case[]>;

test.each(cases.micros)("micros(%s) is %s", (value, text) => {
  expect(micros(value)).toBe(text);
});

test.each(cases.count)("count(%s) is %s", (value, text) => {
  expect(count(value)).toBe(text);
});

test.each(cases.share)("share(%s) is %s", (value, text) => {
  expect(share(value)).toBe(text);
});

test.each([
  [null, "–"],
  [0, "0.0 %"],
  [-0.0004, "0.0 %"],
  [0.123, "+12.3 %"],
  [-0.5, "−50.0 %"],
  [9.5, "+950.0 %"],
  [11, "×12"],
])("changed(%s) is %s", (value, text) => {
  expect(changed(value)).toBe(text);
});

test("a moment is shown in UTC", () => {
  expect(moment(1_767_225_600_000_000)).toBe("2026-01-01 00:00:00 UTC");
});
