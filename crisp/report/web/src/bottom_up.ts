// The bottom-up page: interior APIs by what they cost all endpoints.

import { at, type BottomUpData } from "./data.js";
import { bar, element, name } from "./dom.js";
import type { Column } from "./grid.js";
import { type Row, rowsOf, showListing } from "./listing.js";
import { count, micros, share } from "./units.js";

export function showBottomUp(data: BottomUpData): void {
  const { apis } = data;
  const reached = reachByApi(data);
  const values = (list: number[]) => (row: Row) => at(list, row.index);
  const number = (key: string, title: string, hint: string, list: number[]): Column<Row> => ({
    key,
    title,
    hint,
    numeric: true,
    by: values(list),
    cell: (row) => [count(at(list, row.index))],
  });
  showListing<Row>({
    rows: rowsOf(apis),
    columns: [
      { ...number("place", "Rank", "by time on critical paths, weighted by traffic", apis.place), optional: true },
      {
        key: "name",
        title: "API",
        hint: "service and operation called below an entry endpoint",
        numeric: false,
        by: (row) => `${row.service}::${row.operation}`,
        cell: (row) => [name(row.operation), name(row.service, "service")],
      },
      {
        key: "own",
        title: "Own share",
        hint: "time it holds critical paths itself, of the latency of all traces, weighted by traffic",
        numeric: false,
        by: (row) => -at(apis.exclusive_share, row.index),
        cell: (row) => ratio(at(apis.exclusive_share, row.index)),
      },
      {
        key: "total",
        title: "With calls below",
        hint: "the same with everything that it calls",
        numeric: false,
        by: (row) => -at(apis.inclusive_share, row.index),
        cell: (row) => ratio(at(apis.inclusive_share, row.index)),
      },
      {
        key: "time",
        title: "Own time",
        hint: "time it holds critical paths itself, over all traces",
        numeric: true,
        by: values(apis.exclusive_us),
        cell: (row) => [micros(at(apis.exclusive_us, row.index))],
      },
      number("entries", "Endpoints", "entry endpoints on whose critical path it is", apis.entries),
      number("traces", "On path", "traces with it on the critical path", apis.traces),
      { ...number("any", "In traces", "traces with it anywhere", apis.traces_any), optional: true },
      { ...number("spans", "Spans", "its spans in all traces", apis.spans), optional: true },
    ],
    order: { key: "place", descending: false },
    noun: "APIs",
    rowKey: ({ index }) => at(apis.id, index),
    details: ({ index }) => [reachElement(data, reached.get(index) ?? [], at(apis.entries, index))],
  });
}

function reachByApi({ reach }: BottomUpData): Map<number, number[]> {
  const found = new Map<number, number[]>();
  reach.api.forEach((api, i) => {
    const list = found.get(api);
    if (list) list.push(i);
    else found.set(api, [i]);
  });
  return found;
}

/** The entry endpoints that an API slows; `all` counts also those that are not listed. */
function reachElement(data: BottomUpData, listed: number[], all: number): HTMLElement {
  if (!listed.length) {
    return element("p", { class: "quiet" }, "It holds the critical path of no endpoint of another name.");
  }
  const { entries, reach } = data;
  const titles = [
    ["Slows", "entry endpoints on whose critical path it is, the one it costs most time first"],
    ["Per request", "time it holds the critical path itself, mean over all traces of that endpoint"],
    ["Share", "of the latency of that endpoint"],
    ["On path", "traces of that endpoint with it on the critical path"],
  ] as const;
  const lines = listed.map((i) => {
    const entry = at(reach.entry, i);
    const page = `endpoint/${at(entries.page, entry)}.html`;
    return element(
      "tr",
      {},
      element("td", {}, element("a", { href: page }, name(at(entries.operation, entry))), name(at(entries.service, entry), "service")),
      element("td", { class: "number" }, micros(at(reach.per_request_us, i))),
      element("td", {}, ...ratio(at(reach.share, i))),
      element("td", { class: "number" }, count(at(reach.traces, i))),
    );
  });
  const head = titles.map(([title, hint], i) =>
    element("th", { scope: "col", class: i % 2 ? "number" : null, title: hint }, title),
  );
  const left = all - listed.length;
  const rest = left > 0 ? [element("p", { class: "quiet" }, `And ${count(left)} more that it costs less.`)] : [];
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...lines));
  return element("div", { class: "detail" }, element("div", {}, table, ...rest));
}

function ratio(value: number): HTMLElement[] {
  return [element("span", { class: "ratio" }, bar(value), share(value))];
}
