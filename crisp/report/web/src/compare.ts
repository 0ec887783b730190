// The section «Compare»: two groups of traces, what changed between them, and how sure that is.

import type { CallTree } from "./calls.js";
import { createCompareFlame } from "./compare_flame.js";
import { type By, type Changes, type Pair, pairOf } from "./compare_pair.js";
import { showChanges, showOneSided } from "./compare_table.js";
import { caution, sentence } from "./compare_words.js";
import { at, type Cells, readPart } from "./data.js";
import { byId, element } from "./dom.js";
import { whenSeen } from "./seen.js";
import { addressFields, showInAddress } from "./view.js";

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

  const flame = createCompareFlame(byId("compare-flame"), byId("compare-legend"), tree, (row) => {
    reset.disabled = row === 0;
  });
  const zoom = (row: number): void => {
    const drawn = pair?.[choice.width].total[row] ?? 0;
    if (drawn === 0) update({ width: choice.width === "a" ? "b" : "a" });
    flame.zoom(row);
    reset.disabled = row === 0;
  };
  const zoomFromTable = (row: number): void => {
    zoom(row);
    byId("compare-title").scrollIntoView({ block: "start" });
  };
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
    showChanges(byId("compare-table"), tree, pair, choice.by, zoomFromTable);
  };
  const update = (next: Partial<Choice>): void => {
    choice = { ...choice, ...next };
    showInAddress(fieldsOf(choice, changes, first), false);
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
    zoom(0);
  });
  addEventListener("popstate", () => {
    choice = choiceOf(location.hash, changes, first);
    draw();
  });
  draw();
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
  };
}

/** The fields of a choice in the address; those of the first view are null. */
export function fieldsOf(
  choice: Choice,
  changes: Changes,
  first: [number, number],
): Record<string, string | null> {
  const same = choice.a === first[0] && choice.b === first[1];
  return {
    compare: same ? null : pairText(changes, choice.a, choice.b),
    "compare-by": choice.by === "share" ? "share" : null,
    "compare-width": choice.width === "a" ? "a" : null,
  };
}

function pairText(changes: Changes, a: number, b: number): string {
  const group = at(changes.groups, a);
  return `${group.kind}:${group.label}:${at(changes.groups, b).label}`;
}
