// What is being looked at, kept in the address so that a link restores it.

export interface View {
  /** Chosen bands by index, ascending; null for all. */
  bands: number[] | null;
  /** Call path zoomed to, by its id; null for the root. */
  zoom: string | null;
  search: string;
}

export const EVERYTHING: View = { bands: null, zoom: null, search: "" };

/** The view an address hash asks for; what it says wrongly is left out. */
export function parseView(hash: string, bandCount: number): View {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  return {
    bands: chosen(numbers(found.get("bands") ?? ""), bandCount),
    zoom: found.get("path"),
    search: found.get("search") ?? "",
  };
}

/** The hash of a view, "" when it is the first one. */
export function viewHash(view: View): string {
  const found = new URLSearchParams();
  if (view.bands) found.set("bands", view.bands.join(","));
  if (view.zoom !== null) found.set("path", view.zoom);
  if (view.search) found.set("search", view.search);
  const text = found.toString();
  return text && `#${text}`;
}

/** Valid bands, ascending, each once; null when that is none or all of them. */
export function chosen(bands: number[], bandCount: number): number[] | null {
  const valid = bands.filter((band) => Number.isInteger(band) && band >= 0 && band < bandCount);
  const once = [...new Set(valid)].sort((a, b) => a - b);
  return once.length === 0 || once.length === bandCount ? null : once;
}

/** Put the hash into the address; `step` makes it one that the back button returns from. */
export function showInAddress(hash: string, step: boolean): void {
  if (hash === location.hash) return;
  const address = `${location.pathname}${location.search}${hash}`;
  if (step) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

function numbers(text: string): number[] {
  return text.split(",").flatMap((part) => (/^\d+$/.test(part) ? [Number(part)] : []));
}
