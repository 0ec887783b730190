// The fleet page: entry endpoints with their latencies, days and what holds their path most.

import { at, type FleetData } from "./data.js";
import { bar, element, name } from "./dom.js";
import type { Column } from "./grid.js";
import { showListing } from "./listing.js";
import { sparkline } from "./sparkline.js";
import { count, micros, share } from "./units.js";

interface Row {
  service: string;
  operation: string;
  index: number;
}

export function showFleet(data: FleetData): void {
  const { endpoints } = data;
  showListing<Row>({
    rows: endpoints.id.map((_, index) => ({
      index,
      service: at(endpoints.service, index),
      operation: at(endpoints.operation, index),
    })),
    columns: columns(data),
    order: { key: "", descending: false },
    noun: "endpoints",
  });
}

function columns(data: FleetData): Column<Row>[] {
  const { endpoints } = data;
  const time = (key: "p50_us" | "p95_us" | "p99_us" | "mean_us", title: string, hint: string) =>
    number(key.replace("_us", ""), title, hint, endpoints[key], micros);
  return [
    {
      key: "name",
      title: "Endpoint",
      hint: "the service and operation that a request enters by",
      numeric: false,
      by: (row) => `${row.service}::${row.operation}`,
      cell: (row) => [
        element("a", { href: `endpoint/${at(endpoints.page, row.index)}.html` }, name(row.operation)),
        name(row.service, "service"),
      ],
    },
    number("traces", "Traces", "analysed traces", endpoints.traces, count),
    number("errors", "Errors", "traces whose root failed", endpoints.errors, count, true),
    time("p50_us", "P50", "median latency"),
    time("p95_us", "P95", "95 % of the traces were faster"),
    time("p99_us", "P99", "99 % of the traces were faster"),
    { ...time("mean_us", "Mean", "mean latency"), optional: true },
    {
      key: "holds",
      title: "Holds the path most",
      hint: "the endpoint that holds the critical path longest, and its share of all latency",
      numeric: false,
      by: (row) => -at(endpoints.top_ratio, row.index),
      cell: (row) => [
        element(
          "span",
          { class: "holder" },
          name(at(endpoints.top_operation, row.index)),
          name(at(endpoints.top_service, row.index), "service"),
        ),
        element(
          "span",
          { class: "ratio" },
          bar(at(endpoints.top_ratio, row.index)),
          share(at(endpoints.top_ratio, row.index)),
        ),
      ],
    },
    {
      key: "days",
      title: "Days",
      hint: "P95 (light) and P50 (dark) of each day",
      numeric: false,
      optional: true,
      cell: (row) => [
        sparkline(
          data.days,
          at(endpoints.daily_p50_us, row.index),
          at(endpoints.daily_p95_us, row.index),
        ),
      ],
    },
  ];
}

function number(
  key: string,
  title: string,
  hint: string,
  values: number[],
  words: (value: number) => string,
  optional = false,
): Column<Row> {
  const by = (row: Row): number => at(values, row.index);
  return { key, title, hint, numeric: true, optional, by, cell: (row) => [words(by(row))] };
}
