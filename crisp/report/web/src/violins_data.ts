// What Python says of hosts, and what of it is chosen. Pure.

import { at } from "./data.js";
import type { Fields } from "./view.js";

/** The observations that ran under one value of an attribute. */
export interface Value {
  value: string;
  n: number;
  /** Different hosts among them. */
  hosts: number;
  p50_us: number;
  p95_us: number;
  /** null for too few observations. */
  p99_us: number | null;
  /** Places on the axis from 0 to 1. */
  p50_at: number;
  p95_at: number;
  /** Evenly along the axis, 100 at the peak. */
  density: number[];
}

export interface Attribute {
  attribute: string;
  values: Value[];
  ticks: { at: number; label: string }[];
  /** Adjusted for all comparisons, in words; null where nothing is compared. */
  p: string | null;
  different: boolean;
  effect: { high: number; low: number; words: string; slight: boolean; equal: boolean } | null;
  /** Values with too few observations to draw. */
  few: { value: string; n: number; missing: number }[];
  left_out: number;
  unknown: number;
}

export interface Called {
  service: string;
  operation: string;
  attributes: Attribute[];
}

export interface ViolinsData {
  endpoints: Called[];
  chosen: [endpoint: number, attribute: number];
  tests: number;
  empty: string;
}

export interface Choice {
  endpoint: number;
  attribute: number;
}

/** The choice that an address asks for; what it says wrongly is as at first. */
export function parseChoice(data: ViolinsData, fields: URLSearchParams): Choice {
  const [first] = data.chosen;
  const named = data.endpoints.findIndex((e) => endpointKey(e) === fields.get("host-endpoint"));
  const endpoint = named < 0 ? first : named;
  return { endpoint, attribute: attributeOf(data, endpoint, fields.get("host-attribute")) };
}

/** The attribute of a name where the endpoint has it, else the one to begin with. */
export function attributeOf(data: ViolinsData, endpoint: number, name: string | null): number {
  const { attributes } = at(data.endpoints, endpoint);
  const named = attributes.findIndex((a) => a.attribute === name);
  if (named >= 0) return named;
  if (endpoint === data.chosen[0]) return data.chosen[1];
  const different = attributes.findIndex((a) => a.different);
  return Math.max(0, different);
}

/** The fields of a choice in the address; null for what is shown at first. */
export function choiceFields(data: ViolinsData, { endpoint, attribute }: Choice): Fields {
  const chosen = at(data.endpoints, endpoint);
  const usual = attributeOf(data, endpoint, null);
  return {
    "host-endpoint": endpoint === data.chosen[0] ? null : endpointKey(chosen),
    "host-attribute": attribute === usual ? null : at(chosen.attributes, attribute).attribute,
  };
}

function endpointKey({ service, operation }: Called): string {
  return `${service}::${operation}`;
}

/** The outline of a violin as SVG points, `width` long and `height` high around its middle. */
export function outlinePoints(density: number[], width: number, height: number): string {
  const middle = height / 2;
  const x = (i: number): string => ((i / (density.length - 1)) * width).toFixed(1);
  const above = density.map((d, i) => `${x(i)},${(middle - (d / 100) * middle).toFixed(1)}`);
  const below = density.map((d, i) => `${x(i)},${(middle + (d / 100) * middle).toFixed(1)}`);
  return [...above, ...below.reverse()].join(" ");
}
