// Marks on calls that changed on the newest night that was judged.

import type { CallTree } from "./calls.js";
import { at } from "./data.js";
import { type Child, element } from "./dom.js";

/** One entry per marked call path in every list; the sign of a label says the direction. */
export interface Marks {
  path: number[];
  label: string[];
  note: string[];
}

/** The mark of a call path, null for none. */
export function markOf({ marks }: CallTree, row: number): { label: string; note: string } | null {
  const place = marks?.path.indexOf(row) ?? -1;
  return marks && place >= 0 ? { label: at(marks.label, place), note: at(marks.note, place) } : null;
}

/** The mark as a badge beside the name of a call. */
export function badge(tree: CallTree, row: number): Child[] {
  const mark = markOf(tree, row);
  if (!mark) return [];
  const words = `changed since the days before: ${mark.note}`;
  return [" ", element("span", { class: "changed", title: words }, mark.label)];
}
