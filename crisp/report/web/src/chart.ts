// A flame graph by d3-flame-graph, with what it shows left to its caller.

import flamegraph, { type FlameNode, type Tooltip } from "d3-flame-graph";
import { select } from "d3-selection";

import { type CallTree, type Frame, frames } from "./calls.js";
import { createTip } from "./tip.js";

const CELL = 20;
const LEVEL_LIMIT = 200; // the library zooms by recursion; the template says what is left out
const MANY = 5_000; // paths from which on drawing is not animated

/** What there is to show of a call path; asked only after widths are known. */
export interface Look {
  label: (frame: Frame) => string;
  colour: (frame: Frame) => string;
  facts: (frame: Frame) => [label: string, value: string][];
}

export interface Chart {
  /** Draw frames as wide as these times, each with all paths below; `summary` is for readers. */
  show: (total: Float64Array, summary: string) => void;
  zoom: (row: number) => void;
  /** Ask for labels and colours again. */
  redraw: () => void;
  /** Outline the frame of a row; null for none. */
  point: (row: number | null) => void;
}

export function createChart(
  place: HTMLElement,
  tree: CallTree,
  look: Look,
  onZoom: (row: number) => void,
): Chart {
  let shown = false;
  let nodes: FlameNode<Frame>[] = [];
  let zoomed = 0;
  let following = false; // true while the chart is told to zoom, so that it does not tell back

  const height = CELL * Math.min(tree.depth, LEVEL_LIMIT) + 2;
  const label = (node: FlameNode<Frame>): string => look.label(node.data);
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const chart = flamegraph<Frame>()
    .width(place.clientWidth)
    .height(height)
    .cellHeight(CELL)
    .minFrameSize(1)
    .inverted(true)
    .sort(false)
    .transitionDuration(still || tree.paths.id.length > MANY ? 0 : 200)
    .getName(label)
    .setLabelHandler(label)
    .setColorMapper((node) => look.colour(node.data))
    .tooltip(tooltip(look))
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
  const fit = (): void => {
    const box = `0 0 ${chart.width()} ${height}`; // on paper the drawing is scaled to its width
    place.querySelector("svg")?.setAttribute("viewBox", box);
  };
  observeWidth(place, (width) => {
    chart.width(width);
    if (!shown) return;
    chart.update();
    fit();
  });
  addEventListener("beforeprint", () => {
    settle(place);
  });
  return {
    show: (total, summary) => {
      const root = frames(tree, total, LEVEL_LIMIT);
      if (shown) {
        chart.update(root);
      } else {
        place.replaceChildren();
        chart(selection.datum<Frame>(root));
        settle(place);
        fit();
      }
      shown = true;
      nodes = nodesByRow(selection.datum() as unknown as FlameNode<Frame>);
      const drawing = place.querySelector("svg");
      drawing?.setAttribute("role", "img");
      drawing?.setAttribute("aria-label", summary);
      if (zoomed > 0) follow(zoomed);
    },
    zoom: (row) => {
      if (row !== zoomed) follow(row);
    },
    redraw: () => {
      if (shown) chart.update();
    },
    point: (row) => {
      selection
        .selectAll<SVGGElement, FlameNode<Frame>>("g.frame")
        .classed("current", (node) => node.data.row === row);
    },
  };
}

/** Draw now what the library draws some ticks later: paper does not wait for them. */
function settle(place: HTMLElement): void {
  for (const frame of place.querySelectorAll("g.frame")) {
    frame.querySelector("rect")?.setAttribute("width", frame.getAttribute("width") ?? "0");
    const label = frame.querySelector(".d3-flame-graph-label");
    if (label) label.textContent = frame.getAttribute("name");
  }
}

function nodesByRow(root: FlameNode<Frame>): FlameNode<Frame>[] {
  const found: FlameNode<Frame>[] = [];
  root.each((node) => (found[node.data.row] = node));
  return found;
}

function tooltip(look: Look): Tooltip<Frame> {
  const tip = createTip();
  const show = (event: MouseEvent, node: FlameNode<Frame>): void => {
    tip.show(event, node.data.name, look.facts(node.data));
  };
  return Object.assign(() => undefined, { show, hide: tip.hide });
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
