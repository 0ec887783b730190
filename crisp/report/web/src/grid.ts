// A table that sorts by its headers, shows some rows at first, and opens details of a row.

import { type Attributes, type Child, element } from "./dom.js";
import { count } from "./units.js";

export interface Column<R> {
  key: string;
  title: string;
  hint: string;
  /** Numbers stand right and sort from the largest; text sorts from A. */
  numeric: boolean;
  /** Left out on narrow screens. */
  optional?: boolean;
  cell: (row: R) => Child[];
  /** What to sort by; columns without it do not sort. null comes last. */
  by?: (row: R) => number | string | null;
}

export interface Order {
  key: string;
  descending: boolean;
}

export interface GridOptions<R> {
  columns: Column<R>[];
  order: Order;
  /** Rows shown at first. */
  page: number;
  /** What stands in the place of no rows. */
  empty: string;
  /** Names a row; needed for details only. */
  rowKey?: (row: R) => string;
  details?: (row: R) => Child[];
  onOrder?: (order: Order) => void;
}

export interface Grid<R> {
  show(rows: R[]): void;
  setOrder(order: Order): void;
}

export function createGrid<R>(place: HTMLElement, options: GridOptions<R>): Grid<R> {
  let { order } = options;
  let rows: R[] = [];
  let limit = options.page;
  const open = new Set<string>();
  const head = element("tr");
  const body = element("tbody");
  const more = element("button", { type: "button", class: "more" });
  const empty = element("p", { class: "empty" }, options.empty);
  const table = element("table", { class: "grid" }, element("thead", {}, head), body);
  place.replaceChildren(table, empty, more);

  const draw = (): void => {
    head.replaceChildren(...options.columns.map((column) => header(column, order, sortBy)));
    const shown = sorted(rows, options.columns, order).slice(0, limit);
    body.replaceChildren(...shown.flatMap((row) => lines(row)));
    table.hidden = rows.length === 0;
    empty.hidden = rows.length > 0;
    more.hidden = rows.length <= limit;
    more.textContent = `Show more: ${count(rows.length - limit)} left`;
  };
  const sortBy = (column: Column<R>): void => {
    const same = order.key === column.key;
    order = { key: column.key, descending: same ? !order.descending : column.numeric };
    options.onOrder?.(order);
    draw();
    head.querySelector<HTMLButtonElement>(`[aria-sort] button`)?.focus();
  };
  const lines = (row: R): HTMLElement[] => {
    const { details, rowKey, columns } = options;
    const line = element("tr", {}, ...columns.map((column) => cell(column, row)));
    if (!details || !rowKey) return [line];
    const key = rowKey(row);
    const shown = open.has(key);
    const toggle = element("button", { type: "button", class: "opener", "aria-expanded": String(shown) });
    toggle.setAttribute("aria-label", "Details");
    line.querySelector("td:not(.optional)")?.prepend(toggle); // the first that is never left out
    const below = element(
      "tr",
      { class: "details", hidden: !shown },
      element("td", { colspan: columns.length }, ...(shown ? details(row) : [])),
    );
    toggle.addEventListener("click", () => {
      const now = below.hidden;
      below.hidden = !now;
      toggle.setAttribute("aria-expanded", String(now));
      if (now) open.add(key);
      else open.delete(key);
      below.firstElementChild?.replaceChildren(...(now ? details(row) : []));
    });
    return [line, below];
  };
  more.addEventListener("click", () => {
    limit += 10 * options.page;
    draw();
  });
  return {
    show: (next) => {
      rows = next;
      limit = options.page;
      draw();
    },
    setOrder: (next) => {
      order = next;
    },
  };
}

/** The rows in the order of a column; rows that are equal in it keep their order. */
export function sorted<R>(rows: readonly R[], columns: Column<R>[], order: Order): R[] {
  const by = columns.find((column) => column.key === order.key)?.by;
  if (!by) return [...rows];
  const sign = order.descending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: by(row) }))
    .sort((a, b) => compare(a.value, b.value, sign))
    .map(({ row }) => row);
}

function compare(a: number | string | null, b: number | string | null, sign: number): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  const [left, right] = [String(a), String(b)];
  return sign * (left < right ? -1 : left > right ? 1 : 0);
}

function cell<R>(column: Column<R>, row: R): HTMLElement {
  return element("td", columnClass(column), ...column.cell(row));
}

function header<R>(column: Column<R>, order: Order, sortBy: (column: Column<R>) => void): Node {
  const attributes: Attributes = { ...columnClass(column), scope: "col", title: column.hint };
  if (!column.by) return element("th", attributes, column.title);
  const button = element("button", { type: "button" }, column.title);
  button.addEventListener("click", () => {
    sortBy(column);
  });
  if (order.key === column.key) {
    attributes["aria-sort"] = order.descending ? "descending" : "ascending";
  }
  return element("th", attributes, button);
}

function columnClass<R>(column: Column<R>): Attributes {
  const names = [column.numeric ? "number" : "", column.optional ? "optional" : ""];
  const found = names.filter(Boolean).join(" ");
  return found ? { class: found } : {};
}
