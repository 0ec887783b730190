// What is being looked at, kept in the address so that a link restores it.
//
// Only a zoom is a step that Back returns from: Back and Forward take the zoom from the address
// that they come to and write all else into it as it is now, so that nothing typed is lost. A link
// opened in the page is taken as a whole, and so is the view that Back from it leads to.

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

const ZOOMS = ["path", "compare-path"];

/** The link that the view began with, which marks its entries in the history, and its hash now. */
const view: { link: string | null; hash: string } = { link: null, hash: "" };

/** Put fields into the address. */
export function showInAddress(fields: Fields): void {
  const hash = withFields(location.hash, fields);
  if (hash === location.hash) return;
  write(hash, withFields(location.hash, zooms(hash)) !== withFields(location.hash, {}));
}

/** Call `restore` when Back, Forward or a link made the address say other than `shown`. */
export function whenAddressChanges(shown: () => Fields, restore: () => void): void {
  if (view.link === null) arrive(history.state);
  addEventListener("popstate", ({ state }) => {
    arrive(state);
    if (withFields(location.hash, shown()) !== withFields(location.hash, {})) restore();
  });
}

/** Come to an entry of the history; a second time it changes nothing. */
function arrive(state: unknown): void {
  if (state !== null && state === view.link) {
    write(withFields(view.hash, zooms(location.hash)), false);
    return;
  }
  view.link = typeof state === "string" ? state : location.hash;
  write(location.hash, false);
}

function write(hash: string, step: boolean): void {
  const address = `${location.pathname}${location.search}${hash}`;
  if (step) history.pushState(view.link, "", address);
  else history.replaceState(view.link, "", address);
  view.hash = hash;
}

function zooms(hash: string): Fields {
  const found = addressFields(hash);
  return Object.fromEntries(ZOOMS.map((name) => [name, found.get(name)]));
}

function numbers(text: string): number[] {
  return text.split(",").flatMap((part) => (/^\d+$/.test(part) ? [Number(part)] : []));
}
