// The flame graph of the chosen bands: a hue for each service, search marks, times as labels.

import { chain, type Frame, type Sums } from "./calls.js";
import { createChart } from "./chart.js";
import { frameColour } from "./colour.js";
import { at, type EndpointData } from "./data.js";
import { markOf } from "./marks.js";
import { isolated } from "./dom.js";
import { count, micros, share, traces as traceCount } from "./units.js";

export interface Flame {
  show: (sums: Sums) => void;
  zoom: (row: number) => void;
  mark: (names: boolean[]) => void;
  /** Outline the frame of a row; null for none. */
  point: (row: number | null) => void;
}

export function createFlame(
  place: HTMLElement,
  data: EndpointData,
  onZoom: (row: number) => void,
): Flame {
  let sums: Sums | null = null;
  let marked: boolean[] | null = null; // by name; null while nothing is searched or found

  const label = (frame: Frame): string => {
    const total = sums ? at(sums.total, frame.row) : 0;
    const all = sums ? at(sums.total, 0) : 0;
    const mean = sums ? total / sums.requests : 0;
    const mark = markOf(data, frame.row);
    return `${mark ? `${mark.label.slice(0, 1)} ` : ""}${isolated(frame.name)} · ${micros(mean)} · ${share(all ? total / all : 0)}`;
  };
  const colour = (frame: Frame): string => {
    const name = at(data.paths.name, frame.row);
    if (marked) return marked[name] ? "var(--match)" : "var(--no-match)";
    return frameColour(...at(data.names, name));
  };
  const tip = (frame: Frame): [string, string][] => (sums ? facts(data, sums, frame.row) : []);
  const chart = createChart(place, data, { label, colour, facts: tip }, onZoom);
  return {
    show: (next) => {
      sums = next;
      chart.show(next.total, summary(data, next));
    },
    zoom: chart.zoom,
    mark: (names) => {
      marked = names.includes(true) ? names : null;
      chart.redraw();
    },
    point: chart.point,
  };
}

function summary(data: EndpointData, sums: Sums): string {
  const mean = micros(at(sums.total, 0) / sums.requests);
  return `Flame graph of ${data.service}::${data.operation}, mean ${mean}. The call tree below holds the same numbers.`;
}

/** What there is to say about a call path in the chosen bands. */
export function facts(data: EndpointData, sums: Sums, row: number): [string, string][] {
  const all = at(sums.total, 0);
  const part = (time: number): string =>
    `${micros(time / sums.requests)} · ${share(all ? time / all : 0)}`;
  const traces = at(sums.traces, row);
  const lines: [string, string][] = [
    ["with all below", part(at(sums.total, row))],
    ["itself", part(at(sums.own, row))],
    ["on the path in", `${count(traces)} of ${count(sums.requests)} traces`],
  ];
  const errors = at(sums.errors, row);
  if (errors) lines.push(["with an error in", traceCount(errors)]);
  const mark = markOf(data, row);
  if (mark) lines.push(["changed since the days before", mark.label]);
  lines.push(["level", count(chain(data.paths.parent, row).length)]);
  return lines;
}
