// The bottom-up page: interior APIs by what they cost all endpoints.

import { at, type BottomUpData } from "./data.js";
import { bar, element, name } from "./dom.js";
import type { Column } from "./grid.js";
import { showListing } from "./listing.js";
import { count, micros, share } from "./units.js";

interface Row {
  service: string;
  operation: string;
  index: number;
}

export function showBottomUp({ apis }: BottomUpData): void {
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
    rows: apis.id.map((_, index) => ({
      index,
      service: at(apis.service, index),
      operation: at(apis.operation, index),
    })),
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
  });
}

function ratio(value: number): HTMLElement[] {
  return [element("span", { class: "ratio" }, bar(value), share(value))];
}
