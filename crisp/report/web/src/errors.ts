// Errors on the path: call paths that fail, and what was spent on errors that were stopped.

import { at, type EndpointData, readPart } from "./data.js";
import { element } from "./dom.js";
import { type Column, createGrid } from "./grid.js";
import { whenSeen } from "./seen.js";
import { call, callChain } from "./ranking.js";
import { count, micros, share } from "./units.js";

/** One entry per call path that failed in every list; most time on stopped errors first. */
interface ErrorsData {
  path: number[];
  traces: number[];
  own: number[];
  propagated: number[];
  stopped: number[];
  stopped_us: number[];
  failed_us: number[];
  share: number[];
}

/** Fill the section when it comes into view; a page without errors has no table to fill. */
export function showErrors(data: EndpointData): void {
  const place = document.getElementById("errors-table");
  if (!place) return;
  whenSeen(place, () => {
    const errors = readPart("errors") as ErrorsData;
    const grid = createGrid<number>(place, {
      columns: columns(data, errors),
      order: { key: "", descending: false },
      page: 10,
      empty: "No call failed.",
      rowKey: String,
      details: (row) => [
        element("div", { class: "detail" }, element("div", {}, ...callChain(data, at(errors.path, row)))),
      ],
    });
    grid.show([...errors.path.keys()]);
  });
}

function columns(data: EndpointData, errors: ErrorsData): Column<number>[] {
  const number = (
    key: string,
    title: string,
    hint: string,
    values: number[],
    words: (value: number) => string = count,
  ): Column<number> => ({
    key,
    title,
    hint,
    numeric: true,
    by: (row) => at(values, row),
    cell: (row) => [words(at(values, row))],
  });
  return [
    {
      key: "path",
      title: "Call path",
      hint: "which call failed, and where it is called",
      numeric: false,
      cell: (row) => call(data, at(errors.path, row)),
    },
    number("stopped-us", "Made up for", "time of the call path in traces where its caller went on without an error", errors.stopped_us, micros),
    { ...number("share", "Share", "of the latency of all traces", errors.share, share), optional: true },
    number("traces", "Failed in", "traces in which it failed", errors.traces),
    number("stopped", "Stopped", "of these, traces in which its caller did not fail: the error went no further", errors.stopped),
    { ...number("own", "Began here", "traces in which none of the calls it made had failed", errors.own), optional: true },
    { ...number("below", "From below", "traces in which a call it made had failed too", errors.propagated), optional: true },
    { ...number("failed-us", "Failed time", "time of the call path in all traces in which it failed", errors.failed_us, micros), optional: true },
  ];
}
