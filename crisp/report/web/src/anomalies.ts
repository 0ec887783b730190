// The anomalies page: its alerts are there already and are filtered and put in order here.

import { at, readPart } from "./data.js";
import { byId } from "./dom.js";
import { type JudgedData, showJudged } from "./judged.js";
import { type Named, select } from "./listing.js";
import { type RequestsData, showRequests } from "./requests.js";
import { count } from "./units.js";
import { addressFields, type Fields, showInAddress } from "./view.js";

export interface Alert extends Named {
  status: string;
  severity: string;
  change_us: number;
  /** null where the latency was 0 before. */
  ratio: number | null;
  nights: number;
}

/** Alerts in the order of the page. */
export interface AnomaliesData {
  kind: "anomalies";
  alerts: Alert[];
}

export interface AlertFilter {
  search: string;
  /** null for all, here and below. */
  service: string | null;
  severity: string | null;
  status: string | null;
  /** A key of `ORDERS`; null for the order of the page. */
  sort: string | null;
}

const ORDERS: Record<string, (alert: Alert) => number | string> = {
  change: (alert) => -Math.abs(alert.change_us),
  ratio: (alert) => -Math.abs(alert.ratio ?? 0),
  nights: (alert) => -alert.nights,
  name: (alert) => `${alert.service}::${alert.operation}`,
};

export function showAnomalies(data: AnomaliesData): void {
  const requests = readPart("requests") as RequestsData;
  const judged = readPart("judged") as JudgedData;
  const entries = namedRows(requests.entries ?? { service: [], operation: [] });
  const endpoints = namedRows(judged);
  const showTheseRequests = showRequests(byId("requests-table"), requests);
  const showTheseEndpoints = showJudged(byId("judged-table"), judged);
  const search = byId("search", HTMLInputElement);
  const service = select("service", [...data.alerts, ...entries, ...endpoints], (row) => row.service, "(no name)");
  const chosen = { severity: choice("severity"), status: choice("status"), sort: choice("sort") };
  const current = (): AlertFilter => ({
    search: search.value,
    service: service.chosen(),
    severity: valueOf(chosen.severity),
    status: valueOf(chosen.status),
    sort: valueOf(chosen.sort),
  });
  const draw = (): void => {
    const filter = current();
    const shown = alertsShown(data.alerts, filter);
    const firing = shown.some((row) => at(data.alerts, row).status === "firing");
    showCards(shown, (status) => unfolds(status, firing, filter));
    showTheseRequests(matching(entries, filter));
    showTheseEndpoints(matching(endpoints, filter));
    byId("count").textContent = `${count(shown.length)} of ${count(data.alerts.length)} alerts`;
    showInAddress(fields(filter));
  };
  const restore = (): void => {
    const asked = parseAlertFilter(location.hash);
    search.value = asked.search;
    service.choose(asked.service);
    choose(chosen.severity, asked.severity);
    choose(chosen.status, asked.status);
    choose(chosen.sort, asked.sort);
    draw();
  };
  for (const folded of groups()) {
    folded.querySelector("summary")?.addEventListener("click", () => delete folded.dataset.unfolded);
  }
  search.addEventListener("input", draw);
  for (const control of [service.control, ...Object.values(chosen)]) control?.addEventListener("change", draw);
  addEventListener("hashchange", restore);
  restore();
}

/** Numbers of the alerts that match, in their order; equal ones keep that of the page. */
export function alertsShown(alerts: Alert[], filter: AlertFilter): number[] {
  const { severity, status } = filter;
  const found = matching(alerts, filter).filter(
    (row) =>
      (severity === null || at(alerts, row).severity === severity) &&
      (status === null || at(alerts, row).status === status),
  );
  const by = filter.sort === null ? undefined : ORDERS[filter.sort];
  if (!by) return found;
  return found
    .map((row) => ({ row, value: by(at(alerts, row)) }))
    .sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : a.row - b.row))
    .map(({ row }) => row);
}

export function parseAlertFilter(hash: string): AlertFilter {
  const found = addressFields(hash);
  return {
    search: found.get("search") ?? "",
    service: found.get("service"),
    severity: found.get("severity"),
    status: found.get("status"),
    sort: found.get("sort"),
  };
}

function fields(filter: AlertFilter): Fields {
  return { ...filter, search: filter.search || null };
}

/** Rows of a service whose name holds the term, case and line ends aside, which no field holds. */
function matching(rows: Named[], { search, service }: Pick<AlertFilter, "search" | "service">): number[] {
  const wanted = search.trim().toLowerCase();
  return rows.flatMap((row, i) =>
    (service === null || row.service === service) &&
    `${row.service}::${row.operation}`.replace(/[\r\n]/g, "").toLowerCase().includes(wanted)
      ? [i]
      : [],
  );
}

function namedRows(lists: { service: string[]; operation: string[] }): Named[] {
  return lists.service.map((service, i) => ({ service, operation: at(lists.operation, i) }));
}

/** Whether a folded group with alerts of this status that match is unfolded: for whoever looks for
 * something by name or asks for the status, and where all else of the filter leaves nothing firing. */
export function unfolds(status: string, firing: boolean, filter: AlertFilter): boolean {
  const narrowed = filter.service !== null || filter.severity !== null;
  return filter.search.trim() !== "" || filter.status === status || (narrowed && !firing);
}

/** Put the cards into order, hide the others, and unfold the groups that are asked for. */
function showCards(shown: number[], asked: (status: string) => boolean): void {
  const place = new Map(shown.map((row, i) => [row, i]));
  for (const list of document.querySelectorAll<HTMLElement>(".alerts")) {
    const cards = [...list.querySelectorAll<HTMLElement>(":scope > article")];
    const of = (card: HTMLElement): number => place.get(Number(card.dataset.alert)) ?? Infinity;
    for (const card of cards) card.hidden = of(card) === Infinity;
    const visible = cards.filter((card) => !card.hidden).sort((a, b) => of(a) - of(b));
    const now = [...visible, ...cards.filter((card) => card.hidden)];
    if (now.some((card, i) => card !== cards[i])) list.prepend(...now);
    const empty = list.querySelector<HTMLElement>(":scope > .empty");
    if (empty) empty.hidden = visible.length > 0;
    const folded = list.closest("details");
    if (!folded) continue;
    folded.querySelector(".matching")?.replaceChildren(count(visible.length));
    unfold(folded, visible.length > 0 && asked(folded.dataset.status ?? ""));
  }
}

/** Open a group; once that is no longer asked for, it is folded as it was, but one that a person
 * opened or folded since stays as they left it. */
function unfold(folded: HTMLDetailsElement, asked: boolean): void {
  if (asked && !folded.open) {
    folded.open = true;
    folded.dataset.unfolded = "";
  } else if (!asked && folded.dataset.unfolded !== undefined) {
    folded.open = false;
    delete folded.dataset.unfolded;
  }
}

function groups(): NodeListOf<HTMLDetailsElement> {
  return document.querySelectorAll<HTMLDetailsElement>("details[data-status]");
}

/** A select that pages without alerts do not have. */
function choice(id: string): HTMLSelectElement | null {
  return document.querySelector<HTMLSelectElement>(`select#${id}`);
}

function valueOf(control: HTMLSelectElement | null): string | null {
  return control === null || control.value === "" ? null : control.value;
}

function choose(control: HTMLSelectElement | null, value: string | null): void {
  if (!control) return;
  const known = [...control.options].some((option) => option.value === value);
  control.value = known && value ? value : "";
}
