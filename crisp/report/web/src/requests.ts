// Single requests that are unlike those before: how late they were, and which calls made them so.

import type { CallTree } from "./calls.js";
import { at, readPart } from "./data.js";
import { type Child, element, name } from "./dom.js";
import { type Column, createGrid } from "./grid.js";
import { call, callChain } from "./ranking.js";
import { whenSeen } from "./seen.js";
import { traceElement } from "./traces.js";
import { count, micros, moment, signed } from "./units.js";

/** One entry per request in every list; a path is a row of `paths`, or -1 where it is not known. */
export interface RequestsData extends CallTree {
  requests: {
    trace_id: string[];
    root_span_id: string[];
    start_us: number[];
    latency_us: number[];
    expected_us: number[];
    change_us: number[];
    other_us: number[];
    abnormal: boolean[];
    unseen_counts: boolean[];
    model: string[];
    served_by: string[];
    p: (number | null)[];
    chance: string[];
    p_how: string[];
    /** Contributions of request i: first[i] to first[i + 1]; the same of unseen paths. */
    first: number[];
    unseen_first: number[];
  };
  contributions: { path: number[]; change_us: number[] };
  unseen: number[];
  /** Where requests are of many endpoints. */
  entries?: { page: (string | null)[]; service: string[]; operation: string[] };
}

/** Fill the section of an endpoint's page when it comes into view, if it has one. */
export function showRequestsWhenSeen(): void {
  const place = document.getElementById("requests-table");
  if (!place) return;
  whenSeen(place, () => {
    showRequests(place, readPart("requests") as RequestsData);
  });
}

/** Show them all; gives back a function that shows some, by number. */
export function showRequests(place: HTMLElement, data: RequestsData): (rows: number[]) => void {
  const all = [...data.requests.trace_id.keys()];
  const grid = createGrid<number>(place, {
    columns: columns(data),
    order: { key: "", descending: false },
    page: 10,
    empty: all.length ? "None of the requests match." : "No request was abnormal.",
    rowKey: String,
    details: (row) => details(data, row),
  });
  grid.show(all);
  return (rows) => {
    grid.show(rows);
  };
}

function columns(data: RequestsData): Column<number>[] {
  const { requests } = data;
  return [
    ...entryColumn(data),
    {
      key: "trace",
      title: "Trace",
      hint: "the request",
      numeric: false,
      cell: (row) => [traceElement(at(requests.trace_id, row), at(requests.root_span_id, row))],
    },
    number("latency", "Latency", "how long the request took", requests.latency_us, micros),
    { ...number("expected", "Expected", "mean latency of requests with these calls, on the days before", requests.expected_us, micros), optional: true },
    number("change", "Beyond", "latency less what is expected of it", requests.change_us, signed),
    {
      key: "call",
      title: "Most of it",
      hint: "the call that took most beyond what is expected of it, or least",
      numeric: false,
      optional: true,
      cell: (row) => most(data, row),
    },
    { ...number("unseen", "Unseen calls", "call paths that the model has never seen", unseenCounts(data), count), optional: true },
    {
      key: "p",
      title: "Chance",
      hint: "share of normal requests that score as high",
      numeric: true,
      by: (row) => at(requests.p, row),
      cell: (row) => [element("span", { title: at(requests.p_how, row) }, at(requests.chance, row))],
    },
  ];
}

function entryColumn({ entries }: RequestsData): Column<number>[] {
  if (!entries) return [];
  return [
    {
      key: "endpoint",
      title: "Endpoint",
      hint: "the service and operation that the request entered by",
      numeric: false,
      by: (row) => `${at(entries.service, row)}::${at(entries.operation, row)}`,
      cell: (row) => {
        const page = at(entries.page, row);
        const operation = name(at(entries.operation, row));
        const link = page === null ? operation : element("a", { href: `endpoint/${page}.html` }, operation);
        return [link, name(at(entries.service, row), "service")];
      },
    },
  ];
}

function number(
  key: string,
  title: string,
  hint: string,
  values: number[],
  words: (value: number) => string,
): Column<number> {
  const by = (row: number): number => at(values, row);
  return { key, title, hint, numeric: true, by, cell: (row) => [words(by(row))] };
}

function unseenCounts({ requests }: RequestsData): number[] {
  return requests.trace_id.map((_, row) => at(requests.unseen_first, row + 1) - at(requests.unseen_first, row));
}

function most(data: RequestsData, row: number): Child[] {
  const first = at(data.requests.first, row);
  if (first === at(data.requests.first, row + 1)) return ["–"];
  return [`${signed(at(data.contributions.change_us, first))} `, ...callOf(data, at(data.contributions.path, first))];
}

function callOf(data: RequestsData, path: number): Child[] {
  return path < 0 ? ["a call path that these days do not hold"] : call(data, path);
}

function details(data: RequestsData, row: number): Child[] {
  const { requests } = data;
  const unseen = data.unseen.slice(at(requests.unseen_first, row), at(requests.unseen_first, row + 1));
  const rare = at(requests.unseen_counts, row);
  const how = `Chance: ${at(requests.chance, row)}. How it was made: ${at(requests.p_how, row) || "not recorded"}.`;
  const by = `Scored by ${at(requests.served_by, row)} of the model ${at(requests.model, row)}. Started ${moment(at(requests.start_us, row))}.`;
  return [
    element(
      "div",
      { class: "detail" },
      element("div", {}, element("h4", {}, "Where the time went"), contributions(data, row)),
      element(
        "div",
        {},
        element("p", {}, how),
        element("p", { class: "quiet" }, by),
        ...(unseen.length
          ? [
              element("h4", {}, rare ? "Calls never seen before, which is abnormal here" : "Calls never seen before, which is common here and proves nothing"),
              ...unseen.flatMap((path) => (path < 0 ? [element("p", {}, ...callOf(data, path))] : callChain(data, path).slice(1))),
            ]
          : []),
      ),
    ),
  ];
}

/** Lines that add up to what the request took beyond. */
function contributions(data: RequestsData, row: number): HTMLElement {
  const { requests } = data;
  const line = (what: Child[], us: number): HTMLElement =>
    element("tr", {}, element("td", {}, ...what), element("td", { class: "number" }, signed(us)));
  const lines = [];
  for (let i = at(requests.first, row); i < at(requests.first, row + 1); i++) {
    lines.push(line(callOf(data, at(data.contributions.path, i)), at(data.contributions.change_us, i)));
  }
  lines.push(line(["all other calls"], at(requests.other_us, row)));
  const sum = `together: ${micros(at(requests.latency_us, row))}, where ${micros(at(requests.expected_us, row))} is expected`;
  const foot = element(
    "tr",
    {},
    element("th", { scope: "row" }, sum),
    element("td", { class: "number" }, element("b", {}, signed(at(requests.change_us, row)))),
  );
  return element("table", {}, element("tbody", {}, ...lines), element("tfoot", {}, foot));
}
