// How each endpoint is judged: which score serves it, on how many traces, and why.

import { at } from "./data.js";
import { type Child, element, name } from "./dom.js";
import { type Column, createGrid } from "./grid.js";
import { count, share } from "./units.js";

type Perhaps<T> = (T | null)[];

const NOT_COMPARED = 3;

/** One entry per endpoint in every list; null where it has no model. */
export interface JudgedData {
  page: string[];
  service: string[];
  operation: string[];
  compared: number[];
  missing: number[];
  /** Changes that are no chance. */
  changed: number[];
  /** Abnormal requests; null where its chances cannot be so small. */
  abnormal: Perhaps<number>;
  /** 0 to 4: the lower, the more there is to see; from 3 on it was not compared. Ascends. */
  rank: number[];
  note: string[];
  smallest: string[];
  network: string[];
  false_positive_rate: Perhaps<number>;
  profile: Perhaps<string>;
  features: Perhaps<string>;
  first_day: Perhaps<string>;
  last_day: Perhaps<string>;
  traces: Perhaps<number>;
  fit_rows: Perhaps<number>;
  gate_rows: Perhaps<number>;
  calibration_rows: Perhaps<number>;
  paths: Perhaps<number>;
  columns: Perhaps<number>;
  serves: Perhaps<string>;
  reason: Perhaps<string>;
  new_path_rate: Perhaps<number>;
  drift: Perhaps<number>;
  /** Candidates of endpoint i: first[i] to first[i + 1]. */
  first: number[];
  candidates: { score: string[]; recall: Perhaps<number>; auc: Perhaps<number>; false_positive_rate: Perhaps<number> };
}

/** Show them all; gives back a function that shows some, by number. */
export function showJudged(place: HTMLElement, data: JudgedData): (rows: number[]) => void {
  const grid = createGrid<number>(place, {
    columns: columns(data),
    order: { key: "", descending: false },
    page: rowsAtFirst(data.rank),
    empty: "None of the endpoints match.",
    rowKey: String,
    details: (row) => details(data, row),
  });
  grid.show([...data.page.keys()]);
  return (rows) => {
    grid.show(rows);
  };
}

/** As many rows as have something to see, but between 10 and 25; all others are one click away. */
export function rowsAtFirst(rank: number[]): number {
  return Math.max(10, Math.min(25, rank.filter((value) => value < NOT_COMPARED).length));
}

function columns(data: JudgedData): Column<number>[] {
  return [
    {
      key: "name",
      title: "Endpoint",
      hint: "the service and operation that a request enters by",
      numeric: false,
      by: (row) => `${at(data.service, row)}::${at(data.operation, row)}`,
      cell: (row) => [
        element("a", { href: `endpoint/${at(data.page, row)}.html` }, name(at(data.operation, row))),
        name(at(data.service, row), "service"),
      ],
    },
    number("changed", "Changed", "its calls, or its requests as a whole, that changed by more than chance", data.changed, count),
    number("abnormal", "Abnormal", "requests of the day, at most 20; – where too few requests calibrate it for any to be called so by chance", data.abnormal, count),
    {
      key: "serves",
      title: "Score that serves",
      hint: "the one that found most planted changes on held-out traces; the row says why",
      numeric: false,
      by: (row) => at(data.serves, row),
      cell: (row) => [at(data.serves, row) ?? "no model"],
    },
    { ...number("compared", "Compared", "traces of the day that were compared with those of the days before", data.compared, count), optional: true },
    number("calibrated", "Calibrated", "traces that p-values come from, the latest", data.calibration_rows, count),
    number("wrong", "False positives", "share of untouched held-out traces that the score calls abnormal", data.false_positive_rate, share),
    { ...number("new", "New paths", "chance that a normal request has a call path never seen before", data.new_path_rate, share), optional: true },
    { ...number("drift", "Drift", "how much the traces have changed since the network was trained, 100 % for wholly", data.drift, share), optional: true },
  ];
}

function number(
  key: string,
  title: string,
  hint: string,
  values: Perhaps<number>,
  words: (value: number | null) => string,
): Column<number> {
  return { key, title, hint, numeric: true, by: (row) => at(values, row), cell: (row) => [words(at(values, row))] };
}

function details(data: JudgedData, row: number): Child[] {
  const reason = at(data.reason, row);
  const note = element("p", { class: "quiet" }, `On the day: ${at(data.note, row)}.`);
  if (reason === null) {
    const text = "It has no model of the days before, so single requests cannot be judged.";
    return [element("div", { class: "detail" }, element("div", {}, element("p", {}, text), note))];
  }
  const facts = [
    `Days ${at(data.first_day, row) ?? ""} to ${at(data.last_day, row) ?? ""}: ${count(at(data.traces, row))} traces, of which ${count(at(data.fit_rows, row))} fitted, ${count(at(data.gate_rows, row))} chose the score, ${count(at(data.calibration_rows, row))} calibrated.`,
    `Smallest chance that so many can tell: ${at(data.smallest, row)}.`,
    `${count(at(data.paths, row))} call paths in ${count(at(data.columns, row))} columns (${at(data.features, row) ?? ""}), profile ${at(data.profile, row) ?? ""}.`,
    `Network: ${at(data.network, row)}.`,
  ];
  return [
    element(
      "div",
      { class: "detail" },
      element("div", {}, element("h4", {}, "Why"), element("p", {}, reason), note, ...facts.map((text) => element("p", { class: "quiet" }, text))),
      element("div", {}, element("h4", {}, "What each score did on held-out traces"), candidates(data, row)),
    ),
  ];
}

function candidates(data: JudgedData, row: number): HTMLElement {
  const { score, recall, auc, false_positive_rate } = data.candidates;
  const titles: [string, string][] = [
    ["Score", "its name in the tables"],
    ["Found", "share of planted changes that it finds"],
    ["AUC", "chance that it puts a planted change above an untouched trace; 50 % is guessing"],
    ["False positives", "share of untouched traces that it calls abnormal"],
  ];
  const head = titles.map(([title, hint], i) => element("th", { scope: "col", title: hint, class: i ? "number" : null }, title));
  const lines = [];
  for (let i = at(data.first, row); i < at(data.first, row + 1); i++) {
    const values = [recall, auc, false_positive_rate].map((list) => element("td", { class: "number" }, share(at(list, i))));
    const serves = at(score, i) === at(data.serves, row);
    lines.push(element("tr", {}, element("td", {}, at(score, i), serves ? element("b", {}, " serves") : ""), ...values));
  }
  return element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...lines));
}
