// The section «Heat map»: read when it comes into view, then one state shown as grid and table.

import { at, type EndpointData, readPart } from "./data.js";
import { byId } from "./dom.js";
import { heatOf, type Heat, type HeatPart } from "./heat_data.js";
import { createHeatGrid, type GridEvents } from "./heat_grid.js";
import { columnOrder, rowOrder } from "./heat_order.js";
import type { Spot } from "./heat_picture.js";
import { heatFields, type HeatState, parseHeat, title } from "./heat_state.js";
import { createHeatTable } from "./heat_table.js";
import { cellLines, cellSentence, noRows, rowLines, rowSentence, rowTitle, traceLines } from "./heat_words.js";
import type { Grid } from "./grid.js";
import { whenSeen } from "./seen.js";
import { createTip } from "./tip.js";
import { traceAddress, traceElement } from "./traces.js";
import { count, traces as traceCount } from "./units.js";
import { showInAddress, whenAddressChanges } from "./view.js";

export interface HeatSection {
  /** Show the traces of these bands, null for all. */
  setBands(bands: number[] | null): void;
}

export function createHeat(data: EndpointData): HeatSection {
  let bands: number[] | null = null;
  let shown: HeatSection | null = null;
  whenSeen(byId("heat-section"), () => {
    if (!document.getElementById("heat-map")) return; // no trace is kept, which the page says
    shown = showHeat(data, heatOf(readPart("heat") as HeatPart), bands);
  });
  return {
    setBands: (next) => {
      if (next === bands) return;
      bands = next;
      shown?.setBands(next);
    },
  };
}

function showHeat(data: EndpointData, heat: Heat, first: number[] | null): HeatSection {
  const metric = byId("heat-metric", HTMLSelectElement);
  const sort = byId("heat-sort", HTMLSelectElement);
  const search = byId("heat-search", HTMLInputElement);
  const byLatency = byId("heat-latency", HTMLButtonElement);
  const tip = createTip();
  let bands = first;
  let state = parseHeat(location.hash, data, heat);
  let [rows, columns]: [number[], number[]] = [[], []];
  let table: Grid<number> | null = null;

  const update = (changes: Partial<HeatState>): void => {
    state = { ...state, ...changes };
    showInAddress(heatFields(state, data, heat));
    draw();
  };
  const sortBy = (row: number): void => {
    update({ row: row === state.row ? null : row });
  };
  const events: GridEvents = {
    onSpot: (spot, where, byKey) => {
      if (!spot) {
        tip.hide();
        return;
      }
      tip.show(where, ...tipWords(spot));
      if (byKey) say(spot);
    },
    onPick: (spot) => {
      if (spot.column < 0) {
        sortBy(at(rows, spot.row));
        return;
      }
      say(spot);
      openTrace(heat, at(columns, spot.column));
    },
    onEscape: () => {
      if (state.row !== null) update({ row: null });
    },
  };
  const grid = createHeatGrid(byId("heat-map"), data, heat, events);

  const tipWords = ({ row, column }: Spot): [string, [string, string][]] => {
    const trace = columns[column] ?? 0;
    if (row < 0) return [`Trace ${at(heat.traces.trace_id, trace)}`, traceLines(data, heat, trace)];
    const number = at(rows, row);
    const lines =
      column < 0
        ? rowLines(data, heat, state.metric, number)
        : cellLines(data, heat, state.metric, trace, number);
    return [title(data, at(heat.rows.name, number)), lines];
  };
  const say = ({ row, column }: Spot): void => {
    const now = byId("heat-now");
    if (column < 0) {
      now.replaceChildren(rowSentence(data, heat, state.metric, at(rows, row)));
      return;
    }
    const trace = at(columns, column);
    const words = row < 0 ? "" : cellSentence(data, heat, state.metric, trace, at(rows, row));
    const link = traceElement(at(heat.traces.trace_id, trace), at(heat.traces.span_id, trace));
    now.replaceChildren(words || "Trace ", link);
  };
  const draw = (): void => {
    const wanted = state.search.toLowerCase();
    rows = rowOrder(heat, state.metric, state.sort, (row) =>
      title(data, at(heat.rows.name, row)).toLowerCase().includes(wanted),
    );
    columns = columnOrder(heat, state.metric, bands, state.row);
    metric.value = state.metric;
    sort.value = state.sort;
    if (search.value !== state.search) search.value = state.search;
    byLatency.disabled = state.row === null;
    tip.hide();
    const { metric: which, sort: by, row: sorted } = state;
    const empty = rows.length ? "None of these traces is in the chosen bands." : noRows(heat);
    grid.show({ rows, columns, metric: which, sort: by, sorted }, empty);
    byId("heat-count").textContent = countText(data, heat, rows, columns, sorted);
    table?.show(rows);
  };
  metric.addEventListener("change", () => {
    update({ metric: metric.value === "inclusive" ? "inclusive" : "exclusive" });
  });
  sort.addEventListener("change", () => {
    update({ sort: sort.value as HeatState["sort"] });
  });
  search.addEventListener("input", () => {
    update({ search: search.value });
  });
  byLatency.addEventListener("click", () => {
    update({ row: null });
  });
  byId("heat-details").addEventListener("toggle", () => {
    table ??= createHeatTable(byId("heat-table"), data, heat, sortBy);
    table.show(rows);
  });
  whenAddressChanges(
    () => heatFields(state, data, heat),
    () => {
      state = parseHeat(location.hash, data, heat);
      draw();
    },
  );
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    grid.redraw();
  });
  draw();
  return {
    setBands: (next) => {
      bands = next;
      draw();
    },
  };
}

/** Open a trace in the viewer or, where none is known, mark its id so that it can be copied. */
function openTrace(heat: Heat, trace: number): void {
  const template = document.body.dataset.traceUrl;
  if (template) {
    const ids: [string, string] = [at(heat.traces.trace_id, trace), at(heat.traces.span_id, trace)];
    window.open(traceAddress(template, ...ids), "_blank", "noopener,noreferrer");
    return;
  }
  const id = byId("heat-now").querySelector("code");
  if (id) getSelection()?.selectAllChildren(id);
}

function countText(
  data: EndpointData,
  heat: Heat,
  rows: number[],
  columns: number[],
  sorted: number | null,
): string {
  const all = heat.rows.name.length;
  const some = rows.length < all ? `${count(rows.length)} of ${count(all)}` : count(all);
  const by = sorted === null ? "their latency" : rowTitle(data, heat, sorted);
  const parts = all
    ? [`${traceCount(columns.length)} by ${some} ${all === 1 ? "endpoint" : "endpoints"}, columns sorted by ${by}.`]
    : [`${traceCount(columns.length)}.`];
  if (heat.left_out) parts.push(`${count(heat.left_out)} more endpoints, which hold least, have no row.`);
  if (heat.missing) {
    parts.push(`Percentiles of so few are single requests: ${traceCount(heat.missing)} more ${heat.missing === 1 ? "is" : "are"} needed.`);
  }
  return parts.join(" ");
}
