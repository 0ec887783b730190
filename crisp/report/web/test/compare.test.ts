import { describe, expect, it } from "vitest";

import { choiceOf, fieldsOf } from "../src/compare.js";
import {
  type Changes,
  doubtful,
  type Group,
  limitOf,
  onlyIn,
  ownChange,
  type Pair,
  pairOf,
  stepOf,
} from "../src/compare_pair.js";
import { caution, interval, sentence, signed, withInterval } from "../src/compare_words.js";
import { SHOP } from "./shop.js";

function group(kind: string, label: string, traces: number, latency_us: number): Group {
  return { kind, label, traces, latency_us, missing: Math.max(0, 20 - traces), kept: 5, sums: null };
}

const CHANGES: Changes = {
  thin: 20,
  groups: [
    group("band", "P0–P75", 30, 300_000),
    group("band", "P75–P100", 10, 400_000),
    { ...group("day", "Mon", 40, 40_000), sums: { path: [0, 2], exclusive_us: [30_000, 10_000] } },
    { ...group("day", "Tue", 40, 80_000), sums: { path: [0, 3], exclusive_us: [40_000, 40_000] } },
  ],
  first: { band: [0, 1], day: [2, 3] },
  pairs: [
    {
      a: 0,
      b: 1,
      change_us: 30_000,
      low_us: 20_000,
      high_us: 45_000,
      changes: {
        path: [2, 1, 0, 3],
        change_us: [20_000, -3_000, 3_000, 10_000],
        low_us: [19_000, -4_000, -1_000, null],
        high_us: [22_000, -2_000, 4_000, null],
        share: [0.125, -0.3, -0.075, 0.25],
        share_low: [0.1, -0.4, -0.1, null],
        share_high: [0.2, -0.2, 0.1, null],
      },
    },
    {
      a: 2,
      b: 3,
      change_us: 1_000,
      low_us: -500,
      high_us: 2_000,
      changes: {
        path: [],
        change_us: [],
        low_us: [],
        high_us: [],
        share: [],
        share_low: [],
        share_high: [],
      },
    },
  ],
};

function pair(a: number, b: number): Pair {
  const found = pairOf(SHOP, CHANGES, SHOP.cells.exclusive_us, a, b);
  if (!found) throw new Error("no such pair");
  return found;
}

describe("a pair", () => {
  it("has means per request of bands and of groups with sums of their own", () => {
    expect([...pair(0, 1).b.own]).toEqual([5_000, 0, 25_000, 10_000]);
    expect([...pair(0, 1).b.total]).toEqual([40_000, 25_000, 25_000, 10_000]);
    expect([...pair(2, 3).a.own]).toEqual([750, 0, 250, 0]);
    expect([...pair(2, 3).a.total]).toEqual([1_000, 250, 250, 0]);
  });

  it("turns changes and their intervals round when it is swapped", () => {
    const { latency, changes } = pair(1, 0);
    expect(latency).toEqual({ value: -30_000, interval: [-45_000, -20_000] });
    expect(changes[0]?.time).toEqual({ value: -20_000, interval: [-22_000, -19_000] });
    expect(changes[3]?.time.interval).toBeNull();
    expect(changes[1]?.share).toEqual({ value: 0.3, interval: [0.2, 0.4] });
  });

  it("is null for groups of two kinds, or one and the same", () => {
    expect(pairOf(SHOP, CHANGES, SHOP.cells.exclusive_us, 0, 2)).toBeNull();
    expect(pairOf(SHOP, CHANGES, SHOP.cells.exclusive_us, 1, 1)).toBeNull();
  });

  it("changes by time and by share of the latency", () => {
    expect(ownChange(pair(0, 1), 2, "time")).toBe(20_000);
    expect(ownChange(pair(0, 1), 2, "share")).toBeCloseTo(25 / 40 - 5 / 10);
  });
});

describe("doubt", () => {
  it("is where the interval holds 0, touches it, or is unknown", () => {
    expect(doubtful({ value: 1, interval: [-1, 2] })).toBe(true);
    expect(doubtful({ value: 1, interval: [0, 2] })).toBe(true);
    expect(doubtful({ value: 1, interval: null })).toBe(true);
    expect(doubtful({ value: 1, interval: [0.5, 2] })).toBe(false);
    expect(doubtful({ value: -1, interval: [-2, -0.5] })).toBe(false);
  });
});

describe("colours", () => {
  it("are strongest at the first round part of the latency that no clear change exceeds", () => {
    expect(limitOf(pair(0, 1), "time")).toBe(2.5); // 20 ms of 10 ms
    expect(limitOf(pair(0, 1), "share")).toBe(0.5); // 30 points; 25 are in doubt
    expect(limitOf(pair(2, 3), "time")).toBe(0.05); // nothing is clear: small changes stay pale
  });

  it("step up with the change and stop at the strongest", () => {
    expect([0, 0.001, 0.02, 0.021, 0.1, 0.7].map((weight) => stepOf(weight, 0.1))).toEqual([0, 1, 1, 2, 5, 5]);
    expect(stepOf(-0.05, 0.1)).toBe(-3);
  });
});

describe("call paths of one side", () => {
  it("are named where they begin, the longest first, with how many lie below", () => {
    const { a, b } = pair(2, 3);
    expect(onlyIn(SHOP, b, a)).toEqual([{ row: 3, total: 1_000, below: 0 }]);
    expect(onlyIn(SHOP, a, b)).toEqual([{ row: 1, total: 250, below: 1 }]);
  });
});

describe("words", () => {
  it("give a change its sign and its interval one unit where they share it", () => {
    expect(withInterval({ value: 1_200, interval: [800, 1_600] }, "time")).toBe("+1.20 ms (800 µs to 1.60 ms)");
    expect(withInterval({ value: -1_200, interval: [-1_600, 1_100] }, "time")).toBe("−1.20 ms (−1.60 to 1.10 ms)");
    expect(withInterval({ value: 0.125, interval: [0.1, 0.2] }, "share")).toBe("+12.5 points (10.0 to 20.0 points)");
    expect(withInterval({ value: 5, interval: null }, "time")).toBe("+5 µs");
    expect(interval({ value: 5, interval: null }, "time")).toBe("");
    expect(signed(0, "time")).toBe("0 µs");
    expect(signed(-0.0002, "share")).toBe("<0.1 points");
    expect(signed(-0.02, "share")).toBe("−2.0 points");
  });

  it("say what is slower and what explains most of it", () => {
    expect(sentence(SHOP, pair(0, 1))).toBe(
      "P75–P100 is 30.0 ms slower than P0–P75 on average (20.0 to 45.0 ms). db::read explains 20.0 ms of it.",
    );
    expect(sentence(SHOP, pair(1, 0))).toBe(
      "P0–P75 is 30.0 ms faster than P75–P100 on average (20.0 to 45.0 ms). db::read explains 20.0 ms of it.",
    );
  });

  it("do not let a call explain more than there is to explain", () => {
    const given = pair(0, 1);
    const small: Pair = { ...given, latency: { value: 500, interval: [100, 900] } };
    expect(sentence(SHOP, small)).toContain(" db::read alone takes 20.0 ms more; other calls became faster.");
    const less = { row: 2, time: { value: -2_000, interval: [-3_000, -1_000] }, share: { value: 0, interval: null } } as const;
    const gain = { value: -500, interval: [-900, -100] } as const;
    expect(sentence(SHOP, { ...given, latency: gain, changes: [less] } as unknown as Pair)).toContain(
      " is 500 µs faster than P0–P75 on average (100 to 900 µs). db::read alone takes 2.00 ms less; other calls became slower.",
    );
    const whole: Pair = { ...given, latency: { value: 20_000, interval: [19_000, 21_000] } };
    expect(sentence(SHOP, whole)).toContain(" db::read explains 20.0 ms of it.");
  });

  it("do not make news of what could be noise", () => {
    expect(sentence(SHOP, pair(2, 3))).toBe(
      "Tue takes 2.00 ms on average, Mon 1.00 ms. That difference of +1.00 ms could be noise: the true change lies somewhere from −500 µs to 2.00 ms.",
    );
  });

  it("say how many traces a thin group lacks", () => {
    expect(caution(group("band", "x", 19, 1), 20)).toBe("x is thin: it has 19 traces, 1 more is needed for 20.");
    expect(caution(group("band", "x", 20, 1), 20)).toBe("");
    expect(caution({ ...group("band", "x", 20, 1), kept: 1 }, 20)).toContain("Fewer than 2 traces of x");
  });
});

describe("the address", () => {
  const first: [number, number] = [0, 1];

  it("goes there and back", () => {
    const order = { key: "change", descending: true };
    const choice = { a: 3, b: 2, by: "share", width: "a", order } as const;
    const fields = fieldsOf(choice, CHANGES, first);
    expect(fields).toEqual({
      compare: "day:Tue:Mon",
      "compare-by": "share",
      "compare-width": "a",
      "compare-sort": "-change",
    });
    const hash = new URLSearchParams(fields as Record<string, string>).toString();
    expect(choiceOf(`#${hash}`, CHANGES, first)).toEqual(choice);
  });

  it("leaves out the first view, and what it says wrongly", () => {
    const choice = { a: 0, b: 1, by: "time", width: "b", order: null } as const;
    expect(Object.values(fieldsOf(choice, CHANGES, first))).toEqual([null, null, null, null]);
    for (const hash of ["", "#compare=band:P0–P75:Mon&compare-by=x", "#compare=:&compare-width=c"]) {
      expect(choiceOf(hash, CHANGES, first)).toEqual(choice);
    }
  });
});
