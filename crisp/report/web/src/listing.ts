// A page that is one long table: literal search, filter by service, order, all in the address.

import { byId, element } from "./dom.js";
import { type Column, createGrid, type Order } from "./grid.js";
import { count } from "./units.js";
import { showInAddress } from "./view.js";

export interface Named {
  service: string;
  operation: string;
}

export interface Listing<R extends Named> {
  rows: R[];
  columns: Column<R>[];
  order: Order;
  /** What the rows are called: "endpoints". */
  noun: string;
}

interface Filter {
  search: string;
  service: string;
  order: Order | null;
}

/** Fill the page's #table and make its #search, #service and #count work. */
export function showListing<R extends Named>(listing: Listing<R>): void {
  const search = byId("search", HTMLInputElement);
  const service = byId("service", HTMLSelectElement);
  const found = byId("count");
  const services = [...new Set(listing.rows.map((row) => row.service))].sort();
  service.append(...services.map((text) => element("option", { value: text }, text || "(no name)")));
  let order: Order | null = null;

  const grid = createGrid(byId("table"), {
    columns: listing.columns,
    order: listing.order,
    page: 100,
    empty: listing.rows.length ? `None of the ${listing.noun} match.` : `There are no ${listing.noun}.`,
    onOrder: (next) => {
      order = next;
      showInAddress(filterHash({ search: search.value, service: service.value, order }), false);
    },
  });
  const draw = (): void => {
    const shown = filtered(listing.rows, search.value, service.value);
    found.textContent = `${count(shown.length)} of ${count(listing.rows.length)} ${listing.noun}`;
    grid.show(shown);
    showInAddress(filterHash({ search: search.value, service: service.value, order }), false);
  };
  const restore = (): void => {
    const filter = parseFilter(location.hash);
    search.value = filter.search;
    service.value = services.includes(filter.service) ? filter.service : "";
    order = filter.order;
    grid.setOrder(order ?? listing.order);
    draw();
  };
  search.addEventListener("input", draw);
  service.addEventListener("change", draw);
  addEventListener("hashchange", restore);
  restore();
}

/** Rows of a service ("" for all) whose name holds the term, letter case aside. */
export function filtered<R extends Named>(rows: R[], term: string, service: string): R[] {
  const wanted = term.trim().toLowerCase();
  return rows.filter(
    (row) =>
      (service === "" || row.service === service) &&
      `${row.service}::${row.operation}`.toLowerCase().includes(wanted),
  );
}

export function parseFilter(hash: string): Filter {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const sort = found.get("sort");
  return {
    search: found.get("search") ?? "",
    service: found.get("service") ?? "",
    order: sort ? { key: sort.replace(/^-/, ""), descending: sort.startsWith("-") } : null,
  };
}

export function filterHash(filter: Filter): string {
  const found = new URLSearchParams();
  if (filter.search) found.set("search", filter.search);
  if (filter.service) found.set("service", filter.service);
  if (filter.order) found.set("sort", `${filter.order.descending ? "-" : ""}${filter.order.key}`);
  const text = found.toString();
  return text && `#${text}`;
}
