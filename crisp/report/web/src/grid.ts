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
  /** null when it is the first order again. */
  onOrder?: (order: Order | null) => void;
}

export interface Grid<R> {
  /** Show these rows; `columns` where they are others than before. */
  show(rows: R[], columns?: Column<R>[]): void;
  /** For the next `show`; null for the first order. */
  setOrder(order: Order | null): void;
}

export function createGrid<R>(place: HTMLElement, options: GridOptions<R>): Grid<R> {
  let { columns, order } = options;
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
    head.replaceChildren(...columns.map((column) => header(column, order, options.order, sortBy)));
    const shown = sorted(rows, columns, order).slice(0, limit);
    body.replaceChildren(...shown.flatMap((row) => lines(row)));
    table.hidden = rows.length === 0;
    empty.hidden = rows.length > 0;
    more.hidden = rows.length <= limit;
    more.textContent = `Show more: ${count(rows.length - limit)} left`;
  };
  const sortBy = (column: Column<R>): void => {
    order = nextOrder(order, column, options.order);
    options.onOrder?.(order === options.order ? null : order);
    draw();
    head.children[columns.indexOf(column)]?.querySelector("button")?.focus();
  };
  const lines = (row: R): HTMLElement[] => {
    const { details, rowKey } = options;
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
    show: (next, others = columns) => {
      rows = next;
      columns = others;
      limit = options.page;
      draw();
    },
    setOrder: (next) => {
      order = next ?? options.order;
    },
  };
}

/** The order that a click on a header leads to: by it, then the other way round, then the first. */
export function nextOrder(
  order: Order,
  { key, numeric }: { key: string; numeric: boolean },
  first: Order,
): Order {
  const own = key === first.key ? first : { key, descending: numeric };
  if (order.key !== key) return own;
  return order.descending === own.descending ? { key, descending: !own.descending } : first;
}

/** An order as a field of the address: "-p95". */
export function orderText(order: Order | null): string | null {
  return order && `${order.descending ? "-" : ""}${order.key}`;
}

export function parseOrder(text: string | null): Order | null {
  return text ? { key: text.replace(/^-/, ""), descending: text.startsWith("-") } : null;
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

function header<R>(
  column: Column<R>,
  order: Order,
  first: Order,
  sortBy: (column: Column<R>) => void,
): Node {
  const attributes: Attributes = { ...columnClass(column), scope: "col", title: column.hint };
  if (!column.by) return element("th", attributes, column.title);
  const button = element("button", { type: "button" }, column.title);
  button.addEventListener("click", () => {
    sortBy(column);
  });
  if (order.key === column.key) {
    attributes["aria-sort"] = order.descending ? "descending" : "ascending";
    const back = nextOrder(order, column, first) === first;
    attributes.title = `${column.hint} (click again ${back ? "for the first order" : "to turn it round"})`;
  }
  return element("th", attributes, button);
}

function columnClass<R>(column: Column<R>): Attributes {
  const names = [column.numeric ? "number" : "", column.optional ? "optional" : ""];
  const found = names.filter(Boolean).join(" ");
  return found ? { class: found } : {};
}
