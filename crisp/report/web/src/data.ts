// The JSON that Python puts into each page. 64-bit ids are hex text; rows refer to each other by
// index. Times are microseconds.

import type { AnomaliesData } from "./anomalies.js";
import type { Marks } from "./marks.js";

/** One entry per entry endpoint in every list. */
export interface FleetData {
  kind: "fleet";
  days: string[];
  endpoints: {
    id: string[];
    page: string[];
    service: string[];
    operation: string[];
    traces: number[];
    errors: number[];
    p50_us: number[];
    p95_us: number[];
    p99_us: number[];
    mean_us: number[];
    top_service: string[];
    top_operation: string[];
    top_ratio: number[];
    daily_p50_us: (number | null)[][];
    daily_p95_us: (number | null)[][];
    /** Median against that of the window before, 0 for no change; only with such a window. */
    change_ratio?: (number | null)[];
    change_note?: string[];
    /** Only where owners are known at all; "" for nobody. */
    owner?: string[];
    /** Only where an alert is open: its severity or "silenced", "" for none, and a sentence. */
    alert?: string[];
    alert_note?: string[];
  };
}

/** One entry per interior API in every list. */
export interface BottomUpData {
  kind: "bottom-up";
  apis: {
    id: string[];
    place: number[];
    service: string[];
    operation: string[];
    entries: number[];
    traces: number[];
    traces_any: number[];
    spans: number[];
    cp_spans: number[];
    exclusive_us: number[];
    inclusive_us: number[];
    exclusive_share: number[];
    inclusive_share: number[];
  };
  /** Entry endpoints that some API slows. */
  entries: { page: string[]; service: string[]; operation: string[] };
  /** Which API slows which entry endpoint, by API, the one it costs most first. */
  reach: { api: number[]; entry: number[]; traces: number[]; per_request_us: number[]; share: number[] };
}

export interface Band {
  label: string;
  traces: number;
  latency_us: number;
  lo_us: number;
  hi_us: number;
}

/** Per band one list, in it one number per call path. */
export type Cells = number[][];

/** The calling context tree of one endpoint: call paths depth first, the root is row 0. */
export interface EndpointData {
  kind: "endpoint";
  service: string;
  operation: string;
  depth: number;
  names: [service: string, operation: string][];
  bands: Band[];
  paths: { id: string[]; parent: number[]; name: number[] };
  cells: { exclusive_us: Cells; traces: Cells; error_traces: Cells; spans: Cells };
  stats: {
    traces: number[];
    exclusive_p50_us: number[];
    exclusive_p95_us: number[];
    exclusive_p99_us: number[];
    inclusive_p50_us: number[];
    inclusive_p95_us: number[];
    inclusive_p99_us: number[];
  };
  /** Calls that changed; only where a night was judged. */
  marks?: Marks;
  exemplars: {
    path: number[];
    trace_id: string[];
    span_id: string[];
    start_us: number[];
    latency_us: number[];
    exclusive_us: number[];
  };
}

/** One entry per endpoint of both windows in every list, sure changes first. */
export interface DiffData {
  kind: "diff";
  before: string;
  after: string;
  endpoints: {
    id: string[];
    page: string[];
    service: string[];
    operation: string[];
    change_us: number[];
    ratio: (number | null)[];
    low_us: (number | null)[];
    high_us: (number | null)[];
    /** Traces that the thinner window lacks. */
    missing: number[];
    /** Calls from the root down to the one that changed most surely. */
    path: string[][];
    path_us: number[];
    path_is_sure: boolean[];
    before_traces: number[];
    before_mean_us: number[];
    after_traces: number[];
    after_mean_us: number[];
  };
}

/** The call paths of one endpoint in two windows; what changed is a part of the page. */
export type ComparisonData = { kind: "comparison" } & Pick<EndpointData, "depth" | "names" | "paths">;

export type PageData = AnomaliesData | FleetData | BottomUpData | EndpointData | DiffData | ComparisonData;

/** What the page carries, or null on pages without data. */
export function readData(): PageData | null {
  return readPart("data") as PageData | null;
}

/** One of the parts that a page carries beside its data, parsed now; null where it is missing. */
export function readPart(id: string): unknown {
  const text = document.getElementById(id)?.textContent;
  return text ? JSON.parse(text) : null;
}

/** An element of a list that is known to be there. */
export function at<T>(list: ArrayLike<T>, index: number): T {
  const value = list[index];
  if (value === undefined) throw new RangeError(`no element ${index} of ${list.length}`);
  return value;
}
