// The surest changes as a table, and the call paths that only one of two groups has.

import { type CallTree, chain } from "./calls.js";
import { type By, type Change, doubtful, type Means, onlyIn, type Pair, type PathChange } from "./compare_pair.js";
import { amount, interval, signed, withInterval } from "./compare_words.js";
import { at } from "./data.js";
import { type Child, element, isolated, name } from "./dom.js";
import { type Column, createGrid, type Order } from "./grid.js";
import { call, nameOf } from "./ranking.js";
import { count, micros } from "./units.js";

const PAGE = 15;
const ONE_SIDED = 8;

export interface ChangesTable {
  /** Show the changes of a pair; null is for the surest first. */
  show(pair: Pair, by: By, order: Order | null): void;
}

export function createChangesTable(
  place: HTMLElement,
  tree: CallTree,
  onZoom: (row: number) => void,
  onOrder: (order: Order | null) => void,
): ChangesTable {
  let shown: Pair | null = null;
  const grid = createGrid<PathChange>(place, {
    columns: [],
    order: { key: "surest", descending: false },
    page: PAGE,
    empty: "No call path changed: both groups spend the same time in each.",
    rowKey: ({ row }) => String(row),
    details: ({ row }) => (shown ? details(tree, shown, row, onZoom) : []),
    onOrder,
  });
  return {
    show: (pair, by, order) => {
      shown = pair;
      grid.setOrder(order);
      grid.show(pair.changes, columns(tree, pair, by));
    },
  };
}

function columns(tree: CallTree, pair: Pair, by: By): Column<PathChange>[] {
  const other = by === "time" ? "share" : "time";
  const own = (means: Means, row: number): number =>
    by === "time" ? at(means.own, row) : means.latency ? at(means.own, row) / means.latency : 0;
  const side = (key: "a" | "b"): Column<PathChange> => {
    const means = pair[key];
    return {
      key,
      title: `${key.toUpperCase()}: ${means.group.label}`,
      hint: by === "time" ? "time it holds the critical path itself, per request" : "its part of the mean latency",
      numeric: true,
      optional: true,
      by: ({ row }) => own(means, row),
      cell: ({ row }) => [amount(own(means, row), by)],
    };
  };
  return [
    { key: "path", title: "Call path", hint: "where it is called", numeric: false, cell: ({ row }) => call(tree, row) },
    side("a"),
    side("b"),
    {
      key: "change",
      title: "Change",
      hint: "from A to B, and where it lies in 19 of 20 such comparisons",
      numeric: true,
      by: (found) => found[by].value,
      cell: (found) => changeCell(found[by], by),
    },
    {
      key: "other",
      title: other === "share" ? "Share" : "Time",
      hint: other === "share" ? "change of its part of the mean latency, in percentage points" : "change of its time per request",
      numeric: true,
      optional: true,
      by: (found) => found[other].value,
      cell: (found) => [
        element("span", { title: withInterval(found[other], other) }, signed(found[other].value, other)),
      ],
    },
  ];
}

function changeCell(change: Change, by: By): Child[] {
  const ends = interval(change, by);
  const cells: Child[] = [element("span", {}, signed(change.value, by))];
  if (ends) cells.push(" ", element("span", { class: "ends" }, `(${ends})`));
  if (!doubtful(change)) return cells;
  const title = ends
    ? "the interval holds 0: the same requests once more might show no change, or the opposite"
    : "too few traces with it are kept to say how sure the change is";
  const words = ends ? "could be noise" : "too few traces to tell";
  return [...cells, " ", element("span", { class: "thin", title }, words)];
}

function details(tree: CallTree, pair: Pair, row: number, onZoom: (row: number) => void): Child[] {
  const show = element("button", { type: "button" }, "Show in flame graph");
  show.addEventListener("click", () => {
    onZoom(row);
  });
  const calls = chain(tree.paths.parent, row).map((path) => {
    const [service, operation] = nameOf(tree, path);
    return element("li", {}, name(operation), name(service, "service"));
  });
  const sides = [pair.a, pair.b].map((means) =>
    element("li", {}, `${isolated(means.group.label)}: itself ${micros(at(means.own, row))}, with all below ${micros(at(means.total, row))}`),
  );
  const chained = element("div", {}, element("h4", {}, "Call chain"), element("ol", {}, ...calls), show);
  const times = element("div", {}, element("h4", {}, "Per request"), element("ul", {}, ...sides));
  return [element("div", { class: "detail" }, chained, times)];
}

/** Fill the lists of the call paths that are in B only, and in A only. */
export function showOneSided(place: HTMLElement, tree: CallTree, pair: Pair, onZoom: (row: number) => void): void {
  const list = (title: string, there: Means, elsewhere: Means): HTMLElement => {
    const found = onlyIn(tree, there, elsewhere);
    const rest = found.length - ONE_SIDED;
    const lines = found.slice(0, ONE_SIDED).map(({ row, total, below }) => {
      const button = element("button", { type: "button", class: "link" }, name(nameOf(tree, row)[1]));
      button.addEventListener("click", () => {
        onZoom(row);
      });
      const words = below ? `${micros(total)} with ${count(below)} more below` : micros(total);
      return element("li", {}, button, name(nameOf(tree, row)[0], "service"), ` ${words}`);
    });
    return element(
      "div",
      {},
      element("h3", {}, `${title}, ${isolated(there.group.label)} (${count(found.length)})`),
      found.length
        ? element("ul", {}, ...lines, ...(rest > 0 ? [element("li", { class: "quiet" }, `and ${count(rest)} more, all shorter`)] : []))
        : element("p", { class: "quiet" }, "None: all its call paths are in the other group too."),
    );
  };
  const hint = "A rare call can be missing from a group by chance, the more so the fewer traces it has.";
  place.replaceChildren(
    list("New: only in B", pair.b, pair.a),
    list("Gone: only in A", pair.a, pair.b),
    element("p", { class: "quiet hint" }, hint),
  );
}
