// The endpoint page: one view (bands, zoom, search) shown as flame graph, call tree and ranking.

import { matchedTime, matchingNames, sums, type Sums } from "./calls.js";
import { showCompareWhenSeen } from "./compare.js";
import { createChooser } from "./chooser.js";
import { at, type EndpointData } from "./data.js";
import { byId, element } from "./dom.js";
import { createFlame } from "./flame.js";
import { createHeat } from "./heat.js";
import { createOutline } from "./outline.js";
import { createRanking } from "./ranking.js";
import { createTrail } from "./trail.js";
import { count, micros, share } from "./units.js";
import { EVERYTHING, parseView, showInAddress, type View, viewFields, whenAddressChanges } from "./view.js";

export function showEndpoint(data: EndpointData): void {
  const missing = nothingToShow(data);
  if (missing) {
    byId("flame").replaceChildren(element("p", { class: "empty" }, missing));
    return;
  }
  let view: View = EVERYTHING;
  const rowOf = new Map(data.paths.id.map((id, row) => [id, row]));
  const search = byId("search", HTMLInputElement);
  const reset = byId("reset", HTMLButtonElement);
  const update = (changes: Partial<View>): void => {
    const next = { ...view, ...changes };
    const before = view;
    view = next;
    showInAddress(viewFields(view));
    draw(before);
  };
  const zoomTo = (row: number): void => {
    const id = row > 0 ? at(data.paths.id, row) : null;
    if (id !== view.zoom) update({ zoom: id });
  };

  const chooser = createChooser(data, (bands) => {
    update({ bands });
  });
  const flame = createFlame(byId("flame"), data, zoomTo);
  const outline = createOutline(byId("tree"), data, { onZoom: zoomTo, onFocus: flame.point });
  const ranking = createRanking(byId("ranking"), data, zoomTo);
  const trail = createTrail(byId("trail"), data, zoomTo);
  const heat = createHeat(data);
  let shown: Sums | null = null;

  const draw = (before: View | null): void => {
    const row = view.zoom === null ? 0 : (rowOf.get(view.zoom) ?? 0);
    const names = matchingNames(data, view.search);
    if (before?.search !== view.search) flame.mark(names);
    if (!shown || before?.bands !== view.bands) {
      shown = sums(data, view.bands ?? [...data.bands.keys()]);
      flame.show(shown);
    }
    flame.zoom(row);
    outline.show(shown, row, names);
    ranking.show(shown, view.search, names);
    trail.show(row);
    chooser.show(view.bands, shown);
    heat.setBands(view.bands);
    reset.disabled = row === 0;
    byId("matched").textContent = matchText(data, shown, view.search, names);
  };
  const restore = (): void => {
    view = parseView(location.hash, data.bands.length);
    search.value = view.search;
    draw(null);
  };
  search.addEventListener("input", () => {
    update({ search: search.value });
  });
  reset.addEventListener("click", () => {
    zoomTo(0);
  });
  whenAddressChanges(() => viewFields(view), restore);
  restore();
  showCompareWhenSeen(data, data.cells.exclusive_us);
}

function nothingToShow(data: EndpointData): string {
  if (!data.paths.id.length) return "No call path is recorded for this endpoint.";
  const requests = data.bands.reduce((all, band) => all + band.traces, 0);
  return requests ? "" : "No trace was analysed for this endpoint.";
}

function matchText(data: EndpointData, shown: Sums, search: string, names: boolean[]): string {
  if (!search) return "";
  const paths = data.paths.name.filter((name, row) => names[name] === true && at(shown.total, row) > 0);
  if (!paths.length) return "no call matches";
  const time = matchedTime(data, shown.total, names);
  const all = at(shown.total, 0);
  const words = paths.length === 1 ? "1 call path" : `${count(paths.length)} call paths`;
  return `${share(all ? time / all : 0)} matched: ${micros(time / shown.requests)} in ${words}`;
}
