// The JSON that Python puts into each page. 64-bit ids are hex text; rows refer to each other by
// index. Times are microseconds.

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
  exemplars: {
    path: number[];
    trace_id: string[];
    span_id: string[];
    start_us: number[];
    latency_us: number[];
    exclusive_us: number[];
  };
}

export type PageData = FleetData | BottomUpData | EndpointData;

/** What the page carries, or null on pages without data. */
export function readData(): PageData | null {
  const text = document.getElementById("data")?.textContent;
  return text ? (JSON.parse(text) as PageData) : null;
}

/** An element of a list that is known to be there. */
export function at<T>(list: ArrayLike<T>, index: number): T {
  const value = list[index];
  if (value === undefined) throw new RangeError(`no element ${index} of ${list.length}`);
  return value;
}
