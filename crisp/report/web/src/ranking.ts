// What holds the critical path: call paths by the time they hold it themselves.

import { type CallTree, chain, type Sums } from "./calls.js";
import { at, type EndpointData } from "./data.js";
import { bar, type Child, element, isolated, name } from "./dom.js";
import { type Column, createGrid } from "./grid.js";
import { badge } from "./marks.js";
import { traceElement } from "./traces.js";
import { count, micros, moment, share } from "./units.js";

export interface Ranking {
  /** Show the paths of the chosen bands; with a search only those it finds. */
  show(sums: Sums, search: string, matching: boolean[]): void;
}

export function createRanking(
  place: HTMLElement,
  data: EndpointData,
  onZoom: (row: number) => void,
): Ranking {
  const exemplars = exemplarsByPath(data);
  let sums: Sums | null = null;
  const grid = createGrid<number>(place, {
    columns: columns(data, () => sums),
    order: { key: "own", descending: true },
    page: 25,
    empty: "No call path to show: none holds the critical path in these traces, or none matches.",
    rowKey: String,
    details: (row) => details(data, row, exemplars.get(row) ?? [], onZoom),
  });
  return {
    show: (next, search, matching) => {
      sums = next;
      const rows = [...next.own.keys()].filter(
        (row) => at(next.own, row) > 0 && (!search || matching[at(data.paths.name, row)] === true),
      );
      grid.show(rows);
    },
  };
}

function columns(data: EndpointData, sums: () => Sums | null): Column<number>[] {
  const { stats } = data;
  const own = (row: number): number => sums()?.own[row] ?? 0;
  const perRequest = (row: number): number => own(row) / (sums()?.requests ?? 1);
  const percentile = (title: string, values: number[], optional: boolean): Column<number> => ({
    ...column(title.toLowerCase(), title, `${title} of its own time, all traces`, (row) => at(values, row), micros),
    optional,
  });
  return [
    { key: "path", title: "Call path", hint: "where it is called", numeric: false, cell: (row) => [...call(data, row), ...badge(data, row)] },
    column("own", "Per request", "time it holds the critical path itself, mean over the chosen traces", perRequest, micros),
    {
      ...column("share", "Share", "of the mean latency of the chosen traces", own, count),
      cell: (row) => {
        const ratio = own(row) / (sums()?.total[0] ?? 1);
        return [element("span", { class: "ratio" }, bar(ratio), share(ratio))];
      },
    },
    percentile("P50", stats.exclusive_p50_us, true),
    percentile("P95", stats.exclusive_p95_us, false),
    percentile("P99", stats.exclusive_p99_us, true),
    column("traces", "Traces", "chosen traces with it on the critical path", (row) => sums()?.traces[row] ?? 0, count),
    column("errors", "Errors", "of these, traces in which it failed", (row) => sums()?.errors[row] ?? 0, count),
  ];
}

function column(
  key: string,
  title: string,
  hint: string,
  by: (row: number) => number,
  words: (value: number) => string,
): Column<number> {
  return { key, title, hint, numeric: true, by, cell: (row) => [words(by(row))] };
}

/** The call and, in small, the three calls above it. */
export function call(data: CallTree, row: number): Child[] {
  const [service, operation] = nameOf(data, row);
  const above = chain(data.paths.parent, row).slice(0, -1);
  const near = above.slice(-3).map((path) => isolated(nameOf(data, path)[1] || "(no name)"));
  const under = [...(above.length > 3 ? ["…"] : []), ...near].join(" › ");
  return [
    name(operation),
    name(service, "service"),
    element("bdi", { class: "under" }, under ? `below ${under}` : "the request itself"),
  ];
}

function details(
  data: EndpointData,
  row: number,
  exemplars: number[],
  onZoom: (row: number) => void,
): Child[] {
  const { stats } = data;
  const zoom = element("button", { type: "button" }, "Show in flame graph");
  zoom.addEventListener("click", () => {
    onZoom(row);
    document.getElementById("flame-title")?.scrollIntoView({ block: "start" });
  });
  const inclusive = [stats.inclusive_p50_us, stats.inclusive_p95_us, stats.inclusive_p99_us];
  const words = inclusive.map((values, i) => `${["P50", "P95", "P99"][i] ?? ""} ${micros(at(values, row))}`);
  return [
    element(
      "div",
      { class: "detail" },
      element("div", {}, ...callChain(data, row), zoom),
      element(
        "div",
        {},
        element("h4", {}, "Traces in which it holds longest"),
        exemplars.length ? exemplarTable(data, exemplars) : element("p", {}, "No trace was kept for this path."),
        element("p", { class: "quiet" }, `With all below it, over all traces: ${words.join(" · ")}.`),
      ),
    ),
  ];
}

/** All calls from the request down to a call path. */
export function callChain(data: CallTree, row: number): Child[] {
  const calls = chain(data.paths.parent, row).map((path) => {
    const [service, operation] = nameOf(data, path);
    return element("li", {}, name(operation), name(service, "service"));
  });
  return [element("h4", {}, "Call chain"), element("ol", {}, ...calls)];
}

function exemplarTable(data: EndpointData, exemplars: number[]): HTMLElement {
  const { trace_id, span_id, start_us, latency_us, exclusive_us } = data.exemplars;
  const titles = ["Trace", "Itself", "Latency", "Started"];
  const lines = exemplars.map((i) =>
    element(
      "tr",
      {},
      element("td", {}, traceElement(at(trace_id, i), at(span_id, i))),
      element("td", { class: "number" }, micros(at(exclusive_us, i))),
      element("td", { class: "number" }, micros(at(latency_us, i))),
      element("td", { class: "number" }, moment(at(start_us, i))),
    ),
  );
  const head = titles.map((title, i) => element("th", { scope: "col", class: i ? "number" : null }, title));
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...lines));
}

export function nameOf(data: CallTree, row: number): [string, string] {
  return at(data.names, at(data.paths.name, row));
}

function exemplarsByPath(data: EndpointData): Map<number, number[]> {
  const found = new Map<number, number[]>();
  data.exemplars.path.forEach((row, i) => {
    const list = found.get(row);
    if (list) list.push(i);
    else found.set(row, [i]);
  });
  return found;
}
