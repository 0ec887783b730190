import { expect, test } from "vitest";

import {
  type Attribute,
  attributeOf,
  choiceFields,
  outlinePoints,
  parseChoice,
  type ViolinsData,
} from "../src/violins_data.js";

function attribute(name: string, different: boolean): Attribute {
  return { attribute: name, values: [], ticks: [], p: null, different, effect: null, few: [], left_out: 0, unknown: 0 };
}

const DATA: ViolinsData = {
  endpoints: [
    { service: "shop", operation: "buy", attributes: [attribute("host", false), attribute("zone", false)] },
    { service: "db", operation: "read", attributes: [attribute("sku", false), attribute("zone", true)] },
  ],
  chosen: [1, 1],
  tests: 4,
  empty: "",
};

test("without an address the most different comparison is shown", () => {
  expect(parseChoice(DATA, new URLSearchParams())).toEqual({ endpoint: 1, attribute: 1 });
  expect(choiceFields(DATA, { endpoint: 1, attribute: 1 })).toEqual({
    "host-endpoint": null,
    "host-attribute": null,
  });
});

test("every choice survives the address", () => {
  for (const endpoint of [0, 1]) {
    for (const of of [0, 1]) {
      const choice = { endpoint, attribute: of };
      const fields = Object.entries(choiceFields(DATA, choice)).flatMap(([key, value]) =>
        value === null ? [] : [[key, value]],
      );
      expect(parseChoice(DATA, new URLSearchParams(fields))).toEqual(choice);
    }
  }
});

test("what an address says wrongly is as at first", () => {
  const fields = new URLSearchParams({ "host-endpoint": "no::such", "host-attribute": "none" });
  expect(parseChoice(DATA, fields)).toEqual({ endpoint: 1, attribute: 1 });
});

test("another call keeps the attribute, or begins with one that differs", () => {
  expect(attributeOf(DATA, 0, "zone")).toBe(1);
  expect(attributeOf(DATA, 0, "sku")).toBe(0);
});

test("an outline goes along the upper edge and back along the lower", () => {
  expect(outlinePoints([0, 100, 50], 10, 4)).toBe("0.0,2.0 5.0,0.0 10.0,1.0 10.0,3.0 5.0,4.0 0.0,2.0");
});
