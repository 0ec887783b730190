// The call tree as a table that works from the keyboard (ARIA treegrid).

import { chain, type Sums } from "./calls.js";
import { at, type EndpointData } from "./data.js";
import { element, name } from "./dom.js";
import { frameColour } from "./colour.js";
import { badge } from "./marks.js";
import { count, micros, share } from "./units.js";

const FIRST_ROWS = 25; // opened at first, the heaviest
const CHILDREN = 100; // shown of one call; the rest are named by number
const INDENT_LIMIT = 16;

export interface Outline {
  show(sums: Sums, root: number, marked: boolean[]): void;
}

export interface OutlineEvents {
  onZoom: (row: number) => void;
  onFocus: (row: number | null) => void;
}

export function createOutline(
  place: HTMLElement,
  data: EndpointData,
  events: OutlineEvents,
): Outline {
  const children = childrenOf(data.paths.parent);
  const open = new Set<number>();
  let sums: Sums | null = null;
  let root = 0;
  let marked: boolean[] = [];
  let focused = 0;
  const body = element("tbody");
  place.replaceChildren(
    element(
      "table",
      { role: "treegrid", "aria-labelledby": "tree-title", class: "grid" },
      element("thead", {}, headings()),
      body,
    ),
  );

  const below = (row: number): number[] => {
    const total = sums?.total ?? new Float64Array();
    const heavy = (children[row] ?? []).filter((child) => at(total, child) > 0);
    return heavy.sort((a, b) => at(total, b) - at(total, a) || a - b);
  };
  const openHeaviest = (): void => {
    let frontier = [root];
    for (let shown = 1; shown < FIRST_ROWS && frontier.length; ) {
      const row = frontier.reduce((a, b) => (at(sums?.total ?? [], b) > at(sums?.total ?? [], a) ? b : a));
      const next = below(row);
      frontier = frontier.filter((other) => other !== row).concat(next);
      open.add(row);
      shown += next.length;
    }
  };
  const openAbove = (row: number): void => {
    for (const above of chain(data.paths.parent, row).slice(0, -1)) open.add(above);
  };
  const draw = (): void => {
    if (!sums) return;
    const lines: HTMLElement[] = [];
    const pending: [row: number, level: number][] = [[root, 1]];
    for (let next = pending.pop(); next; next = pending.pop()) {
      const [row, level] = next;
      const under = below(row);
      lines.push(line(data, sums, row, level, under.length ? open.has(row) : null, marked));
      if (!open.has(row)) continue;
      if (under.length > CHILDREN) lines.push(rest(under.length - CHILDREN));
      for (const child of under.slice(0, CHILDREN).reverse()) pending.push([child, level + 1]);
    }
    const hadFocus = body.contains(document.activeElement);
    body.replaceChildren(...lines);
    setTabStop();
    if (hadFocus) lineOf(focused)?.focus();
  };
  const lineOf = (row: number): HTMLElement | null =>
    body.querySelector<HTMLElement>(`tr[data-row="${row}"]`);
  const setTabStop = (): void => {
    if (!lineOf(focused)) focused = root;
    for (const stop of body.querySelectorAll('tr[tabindex="0"]')) stop.setAttribute("tabindex", "-1");
    lineOf(focused)?.setAttribute("tabindex", "0");
  };
  const focus = (row: number | undefined): void => {
    if (row === undefined || !lineOf(row)) return;
    focused = row;
    setTabStop();
    lineOf(row)?.focus();
  };
  const setOpen = (row: number, yes: boolean): void => {
    if (yes) open.add(row);
    else open.delete(row);
    focused = row;
    draw();
  };
  const visible = (): number[] =>
    [...body.querySelectorAll<HTMLElement>("tr[data-row]")].map((row) => Number(row.dataset.row));
  const step = (by: number): void => {
    const rows = visible();
    focus(rows[rows.indexOf(focused) + by]);
  };
  const keys: Record<string, () => void> = {
    ArrowDown: () => {
      step(1);
    },
    ArrowUp: () => {
      step(-1);
    },
    Home: () => {
      focus(root);
    },
    End: () => {
      focus(visible().at(-1));
    },
    ArrowRight: () => {
      if (open.has(focused)) focus(below(focused)[0]);
      else if (below(focused).length) setOpen(focused, true);
    },
    ArrowLeft: () => {
      if (open.has(focused) && below(focused).length) setOpen(focused, false);
      else focus(data.paths.parent[focused]);
    },
    Enter: () => {
      events.onZoom(focused);
    },
    Escape: () => {
      events.onZoom(0);
    },
  };
  body.addEventListener("keydown", (event) => {
    const action = keys[event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
  body.addEventListener("focusin", (event) => {
    const row = (event.target as HTMLElement).closest<HTMLElement>("tr[data-row]");
    if (!row) return;
    focused = Number(row.dataset.row);
    setTabStop();
    events.onFocus(focused);
  });
  body.addEventListener("focusout", () => {
    events.onFocus(null);
  });
  body.addEventListener("click", (event) => {
    const target = event.target as HTMLElement;
    const row = target.closest<HTMLElement>("tr[data-row]");
    if (!row) return;
    const number = Number(row.dataset.row);
    if (target.closest(".opener")) setOpen(number, !open.has(number));
    else focus(number);
  });
  body.addEventListener("dblclick", () => {
    events.onZoom(focused);
  });
  return {
    show: (next, from, names) => {
      const first = sums === null || from !== root;
      [sums, root, marked] = [next, from, names];
      if (first) {
        openHeaviest();
        openAbove(focused);
      }
      draw();
    },
  };
}

function headings(): HTMLElement {
  const titles: [string, string][] = [
    ["Call", "service and operation"],
    ["With all below", "time it and its calls hold the critical path, per request"],
    ["Share", "of the mean latency of the chosen traces"],
    ["Itself", "time it holds the critical path itself, per request"],
    ["Share", "of the mean latency of the chosen traces"],
    ["Traces", "chosen traces with it on the critical path"],
  ];
  const cells = titles.map(([title, hint], i) =>
    element("th", { scope: "col", title: hint, class: i ? "number" : null }, title),
  );
  return element("tr", {}, ...cells);
}

function line(
  data: EndpointData,
  sums: Sums,
  row: number,
  level: number,
  open: boolean | null,
  marked: boolean[],
): HTMLElement {
  const nameIndex = at(data.paths.name, row);
  const [service, operation] = at(data.names, nameIndex);
  const all = at(sums.total, 0);
  const number = (text: string): HTMLElement => element("td", { class: "number" }, text);
  const opener = element("span", { class: open === null ? "opener none" : "opener", "aria-hidden": "true" });
  const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
  swatch.style.background = frameColour(service, operation);
  const call = element("td", {}, opener, swatch, name(operation), name(service, "service"), ...badge(data, row));
  call.style.paddingInlineStart = `${Math.min(level, INDENT_LIMIT) - 0.5}em`;
  return element(
    "tr",
    {
      "data-row": row,
      tabindex: -1,
      "aria-level": level,
      "aria-expanded": open === null ? null : String(open),
      class: marked[nameIndex] ? "match" : null,
    },
    call,
    number(micros(at(sums.total, row) / sums.requests)),
    number(share(all ? at(sums.total, row) / all : 0)),
    number(micros(at(sums.own, row) / sums.requests)),
    number(share(all ? at(sums.own, row) / all : 0)),
    number(count(at(sums.traces, row))),
  );
}

function rest(left: number): HTMLElement {
  const text = `… and ${count(left)} more calls; the list below has them`;
  return element("tr", {}, element("td", { colspan: 6, class: "quiet" }, text));
}

function childrenOf(parent: readonly number[]): number[][] {
  const found: number[][] = parent.map(() => []);
  parent.forEach((above, row) => {
    if (above >= 0) found[above]?.push(row);
  });
  return found;
}
