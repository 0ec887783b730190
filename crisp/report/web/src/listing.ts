// A page that is one long table: literal search, filter by service, order, all in the address.

import { at } from "./data.js";
import { byId, type Child, element } from "./dom.js";
import { type Column, createGrid, type Order, orderText, parseOrder } from "./grid.js";
import { count } from "./units.js";
import { addressFields, type Fields, showInAddress } from "./view.js";

export interface Named {
  service: string;
  operation: string;
  /** Who looks after it, "" for nobody; missing where owners are not known at all. */
  owner?: string;
}

/** A row of data that is kept by column. */
export interface Row extends Named {
  index: number;
}

/** One row for each entry of the lists. */
export function rowsOf(lists: { service: string[]; operation: string[]; owner?: string[] }): Row[] {
  const { service, operation, owner } = lists;
  return service.map((text, index) => ({
    index,
    service: text,
    operation: at(operation, index),
    ...(owner ? { owner: at(owner, index) } : {}),
  }));
}

export interface Listing<R extends Named> {
  rows: R[];
  columns: Column<R>[];
  order: Order;
  /** What the rows are called: "endpoints". */
  noun: string;
  /** Names a row; needed for details only. */
  rowKey?: (row: R) => string;
  details?: (row: R) => Child[];
}

interface Filter {
  search: string;
  /** null for all, here and below. */
  service: string | null;
  owner: string | null;
  order: Order | null;
}

/** Fill the page's #table and make its #search, #service, #count and, if any, #owner work. */
export function showListing<R extends Named>(listing: Listing<R>): void {
  const search = byId("search", HTMLInputElement);
  const service = select("service", listing.rows, (row) => row.service, "(no name)");
  const owner = document.getElementById("owner") && select("owner", listing.rows, (row) => row.owner ?? "", "(nobody)");
  const found = byId("count");
  let order: Order | null = null;
  const filter = (): Filter => ({
    search: search.value,
    service: service.chosen(),
    owner: owner?.chosen() ?? null,
    order,
  });

  const grid = createGrid(byId("table"), {
    columns: listing.columns,
    order: listing.order,
    page: 100,
    empty: listing.rows.length ? `None of the ${listing.noun} match.` : `There are no ${listing.noun}.`,
    ...(listing.details && listing.rowKey ? { details: listing.details, rowKey: listing.rowKey } : {}),
    onOrder: (next) => {
      order = next;
      showInAddress(filterFields(filter()));
    },
  });
  const draw = (): void => {
    const shown = filtered(listing.rows, filter());
    found.textContent = `${count(shown.length)} of ${count(listing.rows.length)} ${listing.noun}`;
    grid.show(shown);
    showInAddress(filterFields(filter()));
  };
  const restore = (): void => {
    const asked = parseFilter(location.hash);
    search.value = asked.search;
    service.choose(asked.service);
    owner?.choose(asked.owner);
    order = asked.order;
    grid.setOrder(order);
    draw();
  };
  search.addEventListener("input", draw);
  service.control.addEventListener("change", draw);
  owner?.control.addEventListener("change", draw);
  addEventListener("hashchange", restore);
  restore();
}

export interface Select {
  control: HTMLSelectElement;
  /** null for all. */
  chosen: () => string | null;
  choose: (text: string | null) => void;
}

/** A select of all that rows have of something; "" is one of them, its first option is all. */
export function select<R>(id: string, rows: R[], of: (row: R) => string, nameless: string): Select {
  const control = byId(id, HTMLSelectElement);
  const known = [...new Set(rows.map(of))].sort();
  control.append(...known.map((text, i) => element("option", { value: i }, text || nameless)));
  return {
    control,
    chosen: () => (control.value === "" ? null : at(known, Number(control.value))),
    choose: (text) => {
      const place = text === null ? -1 : known.indexOf(text);
      control.value = place < 0 ? "" : String(place);
    },
  };
}

/** Rows of a service and of an owner, null for all, whose name holds the term, case aside. */
export function filtered<R extends Named>(rows: R[], filter: Omit<Filter, "order">): R[] {
  const wanted = filter.search.trim().toLowerCase();
  return rows.filter(
    (row) =>
      (filter.service === null || row.service === filter.service) &&
      (filter.owner === null || (row.owner ?? "") === filter.owner) &&
      `${row.service}::${row.operation}`.toLowerCase().includes(wanted),
  );
}

export function parseFilter(hash: string): Filter {
  const found = addressFields(hash);
  return {
    search: found.get("search") ?? "",
    service: found.get("service"),
    owner: found.get("owner"),
    order: parseOrder(found.get("sort")),
  };
}

export function filterFields(filter: Filter): Fields {
  const { search, service, owner, order } = filter;
  return {
    search: search || null,
    service,
    owner,
    sort: orderText(order),
  };
}
