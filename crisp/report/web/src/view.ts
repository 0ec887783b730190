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
  const found = addressFields(hash);
  return {
    bands: chosen(numbers(found.get("bands") ?? ""), bandCount),
    zoom: found.get("path"),
    search: found.get("search") ?? "",
  };
}

/** The fields of a view in the address; those of the first view are null. */
export function viewFields(view: View): Fields {
  return {
    bands: view.bands?.join(",") ?? null,
    path: view.zoom,
    search: view.search || null,
  };
}

/** Valid bands, ascending, each once; null when that is none or all of them. */
export function chosen(bands: number[], bandCount: number): number[] | null {
  const valid = bands.filter((band) => Number.isInteger(band) && band >= 0 && band < bandCount);
  const once = [...new Set(valid)].sort((a, b) => a - b);
  return once.length === 0 || once.length === bandCount ? null : once;
}

/** What a part of a page keeps in the address, by field; null for what goes without saying. */
export type Fields = Record<string, string | null>;

/** The fields of an address hash. */
export function addressFields(hash: string): URLSearchParams {
  return new URLSearchParams(hash.replace(/^#/, ""));
}

/** The hash with some fields changed and those of other parts as they were; "" for none. */
export function withFields(hash: string, fields: Fields): string {
  const found = addressFields(hash);
  for (const [name, value] of Object.entries(fields)) {
    if (value === null) found.delete(name);
    else found.set(name, value);
  }
  found.sort();
  const text = found.toString();
  return text && `#${text}`;
}

/** Put fields into the address; `step` makes it one that the back button returns from. */
export function showInAddress(fields: Fields, step: boolean): void {
  const hash = withFields(location.hash, fields);
  if (hash === location.hash) return;
  const address = `${location.pathname}${location.search}${hash}`;
  if (step) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

function numbers(text: string): number[] {
  return text.split(",").flatMap((part) => (/^\d+$/.test(part) ? [Number(part)] : []));
}
