// The fleet page: entry endpoints with their latencies, days and what holds their path most.

import { at, type FleetData } from "./data.js";
import { bar, element, name } from "./dom.js";
import type { Column } from "./grid.js";
import { type Row, rowsOf, showListing } from "./listing.js";
import { sparkline } from "./sparkline.js";
import { changed, count, micros, share } from "./units.js";
import { withFields } from "./view.js";

export function showFleet(data: FleetData): void {
  const { endpoints } = data;
  showListing<Row>({
    rows: rowsOf(endpoints),
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
    ...alertColumn(endpoints.alert, endpoints.alert_note),
    ...ownerColumn(endpoints.owner),
    number("traces", "Traces", "analysed traces", endpoints.traces, count),
    number("errors", "Errors", "traces whose root failed", endpoints.errors, count, true),
    time("p50_us", "P50", "median latency"),
    ...changeColumn(endpoints.change_ratio, endpoints.change_note),
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

const SEVERITIES = ["critical", "warning", "info", "silenced"];

function alertColumn(alerts?: string[], notes?: string[]): Column<Row>[] {
  if (!alerts || !notes) return [];
  const word = (row: Row): string => at(alerts, row.index);
  return [
    {
      key: "alert",
      title: "Alert",
      hint: "endpoints that changed on the newest night, and how severely; the anomalies page says more",
      numeric: false,
      by: (row) => (word(row) ? SEVERITIES.indexOf(word(row)) : null),
      cell: (row) =>
        word(row)
          ? [element("a", { class: `badge ${word(row)}`, title: at(notes, row.index), href: alertLink(row) }, word(row))]
          : [element("span", { class: "quiet" }, "–")],
    },
  ];
}

/** The anomalies page with this endpoint searched for. */
function alertLink({ service, operation }: Row): string {
  return `anomalies.html${withFields("", { search: `${service}::${operation}` })}`;
}

function ownerColumn(owners: string[] | undefined): Column<Row>[] {
  if (!owners) return [];
  const owner = (row: Row): string => at(owners, row.index);
  return [
    {
      key: "owner",
      title: "Owner",
      hint: "who looks after the service",
      numeric: false,
      optional: true,
      by: (row) => owner(row) || null,
      cell: (row) => [element("span", { class: "owner" }, owner(row) ? name(owner(row)) : "–")],
    },
  ];
}

function changeColumn(ratios?: (number | null)[], notes?: string[]): Column<Row>[] {
  if (!ratios || !notes) return [];
  const ratio = (row: Row): number | null => at(ratios, row.index);
  return [
    {
      key: "change",
      title: "Change",
      hint: "of the median latency since the window before",
      numeric: true,
      by: ratio,
      cell: (row) => [element("span", { title: at(notes, row.index) }, changed(ratio(row)))],
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
