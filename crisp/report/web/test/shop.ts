import type { EndpointData } from "../src/data.js";

/** shop::buy calls cart::get, which calls db::read, and price::quote; 30 fast and 10 slow traces. */
export const SHOP: EndpointData = {
  kind: "endpoint",
  service: "shop",
  operation: "buy",
  depth: 3,
  names: [
    ["shop", "buy"],
    ["cart", "get"],
    ["db", "read"],
    ["price", "quote [a-z"],
  ],
  bands: [
    { label: "P0–P75", traces: 30, latency_us: 300_000, lo_us: 5_000, hi_us: 19_000 },
    { label: "P75–P100", traces: 10, latency_us: 400_000, lo_us: 20_000, hi_us: 60_000 },
  ],
  paths: { id: ["a", "b", "c", "d"], parent: [-1, 0, 1, 0], name: [0, 1, 2, 3] },
  cells: {
    exclusive_us: [
      [60_000, 90_000, 150_000, 0],
      [50_000, 0, 250_000, 100_000],
    ],
    traces: [
      [30, 30, 30, 0],
      [10, 0, 10, 5],
    ],
    error_traces: [
      [0, 0, 1, 0],
      [0, 0, 0, 2],
    ],
    spans: [
      [30, 30, 30, 0],
      [10, 0, 10, 5],
    ],
  },
  stats: {
    traces: [40, 30, 40, 5],
    exclusive_p50_us: [0, 0, 0, 0],
    exclusive_p95_us: [0, 0, 0, 0],
    exclusive_p99_us: [0, 0, 0, 0],
    inclusive_p50_us: [0, 0, 0, 0],
    inclusive_p95_us: [0, 0, 0, 0],
    inclusive_p99_us: [0, 0, 0, 0],
  },
  exemplars: { path: [], trace_id: [], span_id: [], start_us: [], latency_us: [], exclusive_us: [] },
};
