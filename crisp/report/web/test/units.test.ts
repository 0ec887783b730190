import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

import { changed, count, micros, moment, share, signed } from "../src/units.js";

type Case = [value: number | null, text: string];
const path = new URL("../../../../tests/report/units.json", import.meta.url);
const cases = JSON.parse(readFileSync(path, "utf8")) as Record<string, Case[]>;

const words: Record<string, (value: number | null) => string> = {
  micros,
  count,
  share,
  changed,
  signed: (value) => signed(value ?? NaN),
};

test.each(
  Object.entries(words).flatMap(([kind, say]) =>
    (cases[kind] ?? []).map(([value, text]) => ({ kind, value, text, say })),
  ),
)("$kind($value) is $text", ({ value, text, say }) => {
  expect(say(value)).toBe(text);
});

test("every kind of number has cases", () => {
  expect(Object.keys(cases).sort()).toEqual(Object.keys(words).sort());
});

test("a moment is shown in UTC", () => {
  expect(moment(1_767_225_600_000_000)).toBe("2026-01-01 00:00:00 UTC");
});
