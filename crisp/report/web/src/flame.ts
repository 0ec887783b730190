// The flame graph: d3-flame-graph with our own labels, colours, search marks and tooltip.

import flamegraph, { type FlameNode, type Tooltip } from "d3-flame-graph";
import { select } from "d3-selection";

import { chain, type Frame, frames, type Sums } from "./calls.js";
import { frameColour } from "./colour.js";
import { at, type EndpointData } from "./data.js";
import { isolated } from "./dom.js";
import { createTip } from "./tip.js";
import { count, micros, share, traces as traceCount } from "./units.js";

const CELL = 20;
const LEVEL_LIMIT = 200; // the library zooms by recursion; the template says what is left out
const MANY = 5_000; // paths from which on drawing is not animated

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
  let nodes: FlameNode<Frame>[] = [];
  let zoomed = 0;
  let following = false; // true while the chart is told to zoom, so that it does not tell back

  const label = (node: FlameNode<Frame>): string => {
    const total = sums ? at(sums.total, node.data.row) : 0;
    const all = sums ? at(sums.total, 0) : 0;
    const mean = sums ? total / sums.requests : 0;
    return `${isolated(node.data.name)} · ${micros(mean)} · ${share(all ? total / all : 0)}`;
  };
  const colour = (node: FlameNode<Frame>): string => {
    const name = at(data.paths.name, node.data.row);
    if (marked) return marked[name] ? "var(--match)" : "var(--no-match)";
    return frameColour(...at(data.names, name));
  };
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const chart = flamegraph<Frame>()
    .width(place.clientWidth)
    .height(CELL * Math.min(data.depth, LEVEL_LIMIT) + 2)
    .cellHeight(CELL)
    .minFrameSize(1)
    .inverted(true)
    .sort(false)
    .transitionDuration(still || data.paths.id.length > MANY ? 0 : 200)
    .getName(label)
    .setLabelHandler(label)
    .setColorMapper(colour)
    .tooltip(tooltip(data, () => sums))
    .onClick((node) => {
      zoomed = node.data.row;
      if (!following) onZoom(zoomed);
    });
  const selection = select<HTMLElement, Frame>(place);

  const follow = (row: number): void => {
    const node = nodes[row];
    if (!node) return;
    following = true;
    chart.zoomTo(node);
    following = false;
  };
  observeWidth(place, (width) => {
    if (sums) chart.width(width).update();
  });
  return {
    show: (next) => {
      const first = sums === null;
      sums = next;
      const root = frames(data, next.total, LEVEL_LIMIT);
      if (first) {
        place.replaceChildren();
        chart(selection.datum<Frame>(root));
      } else {
        chart.update(root);
      }
      nodes = nodesByRow(selection.datum() as unknown as FlameNode<Frame>);
      describe(place, data, next);
      if (zoomed > 0) follow(zoomed);
    },
    zoom: (row) => {
      if (row !== zoomed) follow(row);
    },
    mark: (names) => {
      marked = names.includes(true) ? names : null;
      if (sums) chart.update();
    },
    point: (row) => {
      selection
        .selectAll<SVGGElement, FlameNode<Frame>>("g.frame")
        .classed("current", (node) => node.data.row === row);
    },
  };
}

function nodesByRow(root: FlameNode<Frame>): FlameNode<Frame>[] {
  const found: FlameNode<Frame>[] = [];
  root.each((node) => (found[node.data.row] = node));
  return found;
}

function describe(place: HTMLElement, data: EndpointData, sums: Sums): void {
  const drawing = place.querySelector("svg");
  drawing?.setAttribute("role", "img");
  const mean = micros(at(sums.total, 0) / sums.requests);
  drawing?.setAttribute(
    "aria-label",
    `Flame graph of ${data.service}::${data.operation}, mean ${mean}. The call tree below holds the same numbers.`,
  );
}

function tooltip(data: EndpointData, sums: () => Sums | null): Tooltip<Frame> {
  const tip = createTip();
  const show = (event: MouseEvent, node: FlameNode<Frame>): void => {
    const now = sums();
    if (now) tip.show(event, node.data.name, facts(data, now, node.data.row));
  };
  return Object.assign(() => undefined, { show, hide: tip.hide });
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
  lines.push(["level", count(chain(data.paths.parent, row).length)]);
  return lines;
}

function observeWidth(place: HTMLElement, changed: (width: number) => void): void {
  let last = place.clientWidth;
  new ResizeObserver(() => {
    const width = place.clientWidth;
    if (width === last || width === 0) return;
    last = width;
    changed(width);
  }).observe(place);
}
