// The section «Compare»: two groups of traces, what changed between them, and how sure that is.

import type { CallTree } from "./calls.js";
import { createCompareFlame } from "./compare_flame.js";
import { type By, type Changes, type Pair, pairOf } from "./compare_pair.js";
import { createChangesTable, showOneSided } from "./compare_table.js";
import { caution, sentence } from "./compare_words.js";
import { at, type Cells, readPart } from "./data.js";
import { byId, element } from "./dom.js";
import { type Order, orderText, parseOrder } from "./grid.js";
import { goTo } from "./sections.js";
import { whenSeen } from "./seen.js";
import { addressFields, type Fields, showInAddress, whenAddressChanges } from "./view.js";

const KINDS: Record<string, string> = {
  band: "Latency bands",
  day: "Days",
  version: "Versions",
  window: "Windows",
};

interface Choice {
  a: number;
  b: number;
  by: By;
  width: "a" | "b";
  /** Of the changes; null for the surest first. */
  order: Order | null;
}

/** Show the section when it comes into view; `bandSums` are times by band and path. */
export function showCompareWhenSeen(tree: CallTree, bandSums: Cells): void {
  whenSeen(byId("compare"), () => {
    const changes = readPart("changes") as Changes | null;
    if (changes) showCompare(tree, changes, bandSums);
  });
}

/** Show the section. Groups that are bands come first and take their times from `bandSums`. */
export function showCompare(tree: CallTree, changes: Changes, bandSums: Cells = []): void {
  const first = Object.values(changes.first)[0];
  if (!first || !tree.paths.id.length) return; // the page says so
  let choice = choiceOf(location.hash, changes, first);
  let pair: Pair | null = null;
  const kind = byId("compare-kind", HTMLSelectElement);
  const sides = { a: byId("compare-a", HTMLSelectElement), b: byId("compare-b", HTMLSelectElement) };
  const by = byId("compare-by", HTMLSelectElement);
  const width = byId("compare-width", HTMLSelectElement);
  const reset = byId("compare-reset", HTMLButtonElement);

  let zoomed = 0;
  const zoomFields = (): Fields => ({ "compare-path": zoomed > 0 ? at(tree.paths.id, zoomed) : null });
  const zoomTo = (row: number): void => {
    const drawn = pair?.[choice.width].total[row] ?? 0;
    if (drawn === 0) update({ width: choice.width === "a" ? "b" : "a" });
    zoomed = row;
    showInAddress(zoomFields());
    showZoom();
  };
  const flame = createCompareFlame(byId("compare-flame"), byId("compare-legend"), tree, zoomTo);
  const showZoom = (): void => {
    flame.zoom(zoomed);
    reset.disabled = zoomed === 0;
  };
  const zoomFromTable = (row: number): void => {
    zoomTo(row);
    goTo(byId("compare-title"));
  };
  const table = createChangesTable(byId("compare-table"), tree, zoomFromTable, (order) => {
    choice = { ...choice, order };
    showInAddress(fields());
  });
  const draw = (): void => {
    pair = pairOf(tree, changes, bandSums, choice.a, choice.b);
    if (!pair) return;
    const chosen = at(changes.groups, choice.a).kind;
    kind.value = chosen;
    for (const side of ["a", "b"] as const) {
      sides[side].replaceChildren(...groupOptions(changes, chosen, choice[side === "a" ? "b" : "a"]));
      sides[side].value = String(choice[side]);
    }
    by.value = choice.by;
    width.value = choice.width;
    byId("compare-sentence").textContent = sentence(tree, pair);
    const notes = [pair.a.group, pair.b.group].map((group) => caution(group, changes.thin));
    byId("compare-caution").textContent = notes.filter(Boolean).join(" ");
    flame.show(pair, choice.by, pair[choice.width]);
    showOneSided(byId("compare-one-sided"), tree, pair, zoomFromTable);
    table.show(pair, choice.by, choice.order);
  };
  const fields = (): Fields => fieldsOf(choice, changes, first);
  const update = (next: Partial<Choice>): void => {
    choice = { ...choice, ...next };
    showInAddress(fields());
    draw();
  };

  const kinds = Object.keys(changes.first);
  kind.replaceChildren(...kinds.map((value) => element("option", { value }, KINDS[value] ?? value)));
  kind.addEventListener("change", () => {
    const [a, b] = changes.first[kind.value] ?? first;
    update({ a, b });
  });
  for (const side of ["a", "b"] as const) {
    sides[side].addEventListener("change", () => {
      update({ [side]: Number(sides[side].value) });
    });
  }
  byId("compare-swap").addEventListener("click", () => {
    update({ a: choice.b, b: choice.a });
  });
  by.addEventListener("change", () => {
    update({ by: by.value === "share" ? "share" : "time" });
  });
  width.addEventListener("change", () => {
    update({ width: width.value === "a" ? "a" : "b" });
  });
  reset.addEventListener("click", () => {
    zoomTo(0);
  });
  const restore = (): void => {
    choice = choiceOf(location.hash, changes, first);
    draw();
  };
  const restoreZoom = (): void => {
    zoomed = Math.max(0, tree.paths.id.indexOf(addressFields(location.hash).get("compare-path") ?? ""));
    showZoom();
  };
  whenAddressChanges(fields, restore);
  whenAddressChanges(zoomFields, restoreZoom);
  restore();
  restoreZoom();
}

/** Groups of a kind that the other side leaves to choose from. */
function groupOptions(changes: Changes, kind: string, other: number): HTMLElement[] {
  return changes.groups.flatMap((group, value) =>
    group.kind === kind
      ? [element("option", { value, disabled: value === other || !group.traces }, group.label)]
      : [],
  );
}

/** What an address asks for; what it says wrongly is left out. */
export function choiceOf(hash: string, changes: Changes, first: [number, number]): Choice {
  const fields = addressFields(hash);
  const asked = fields.get("compare");
  const pairs = changes.pairs.flatMap(({ a, b }) => [[a, b] as const, [b, a] as const]);
  const [a, b] = pairs.find(([a, b]) => pairText(changes, a, b) === asked) ?? first;
  return {
    a,
    b,
    by: fields.get("compare-by") === "share" ? "share" : "time",
    width: fields.get("compare-width") === "a" ? "a" : "b",
    order: parseOrder(fields.get("compare-sort")),
  };
}

/** The fields of a choice in the address; those of the first view are null. */
export function fieldsOf(choice: Choice, changes: Changes, first: [number, number]): Fields {
  const same = choice.a === first[0] && choice.b === first[1];
  return {
    compare: same ? null : pairText(changes, choice.a, choice.b),
    "compare-by": choice.by === "share" ? "share" : null,
    "compare-width": choice.width === "a" ? "a" : null,
    "compare-sort": orderText(choice.order),
  };
}

function pairText(changes: Changes, a: number, b: number): string {
  const group = at(changes.groups, a);
  return `${group.kind}:${group.label}:${at(changes.groups, b).label}`;
}
