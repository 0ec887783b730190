// The first page of a comparison: endpoints of two windows by what changed in them.

import { interval, signed } from "./compare_words.js";
import { at, type DiffData } from "./data.js";
import { type Child, element, isolated, name } from "./dom.js";
import type { Column } from "./grid.js";
import { type Row, rowsOf, showListing } from "./listing.js";
import { changed, count, micros, traces } from "./units.js";

export function showDiff(data: DiffData): void {
  const { endpoints } = data;
  showListing<Row>({
    rows: rowsOf(endpoints),
    columns: columns(data),
    order: { key: "", descending: false },
    noun: "endpoints",
  });
}

function columns(data: DiffData): Column<Row>[] {
  const { endpoints } = data;
  const time = (key: string, title: string, hint: string, values: number[]): Column<Row> => ({
    key,
    title,
    hint,
    numeric: true,
    by: (row) => at(values, row.index),
    cell: (row) => [micros(at(values, row.index))],
  });
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
    {
      key: "traces",
      title: "Traces",
      hint: `analysed traces of ${data.before} and of ${data.after}`,
      numeric: true,
      optional: true,
      by: (row) => at(endpoints.after_traces, row.index),
      cell: (row) => [
        `${count(at(endpoints.before_traces, row.index))} → ${count(at(endpoints.after_traces, row.index))}`,
      ],
    },
    { ...time("before", "Before", `mean latency in ${data.before}`, endpoints.before_mean_us), optional: true },
    time("after", "After", `mean latency in ${data.after}`, endpoints.after_mean_us),
    {
      key: "change",
      title: "Change",
      hint: "of the mean latency, with the interval that holds the true change 19 times of 20",
      numeric: true,
      by: (row) => at(endpoints.change_us, row.index),
      cell: (row) => change(data, row.index),
    },
    {
      key: "path",
      title: "Changed most surely",
      hint: "the call whose own time on the critical path changed most surely, and by how much",
      numeric: false,
      by: (row) => -Math.abs(at(endpoints.path_us, row.index)),
      cell: (row) => call(data, row.index),
    },
  ];
}

function change(data: DiffData, index: number): Child[] {
  const { endpoints } = data;
  const ratio = at(endpoints.ratio, index);
  const text = signed(at(endpoints.change_us, index), "time");
  const percent = ratio === null ? "" : ` (${changed(ratio)})`;
  return [`${text}${percent}`, element("div", { class: "quiet" }, doubt(data, index))];
}

/** How sure the change is, in words. */
export function doubt(data: DiffData, index: number): string {
  const { change_us, low_us, high_us, missing } = data.endpoints;
  const [low, high] = [at(low_us, index), at(high_us, index)];
  const lack = at(missing, index);
  if (lack) return `thin: ${traces(lack)} more needed`;
  if (low === null || high === null) return "too few traces are kept to tell";
  const range = interval({ value: at(change_us, index), interval: [low, high] }, "time");
  return low > 0 || high < 0 ? range : `${range}, could be noise`;
}

function call(data: DiffData, index: number): Child[] {
  const { path, path_us, path_is_sure } = data.endpoints;
  const chain = at(path, index);
  const last = chain.at(-1);
  if (last === undefined) return [element("span", { class: "quiet" }, "no call changed")];
  const caller = chain.at(-2);
  return [
    name(last),
    ` ${signed(at(path_us, index), "time")}`,
    ...(at(path_is_sure, index) ? [] : [" ", element("span", { class: "thin" }, "could be noise")]),
    element("bdi", { class: "under" }, caller === undefined ? "the request itself" : `called by ${isolated(caller)}`),
  ];
}
