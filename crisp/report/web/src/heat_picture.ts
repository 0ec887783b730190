// The picture of the heat map: one pixel per cell in memory, of which each frame enlarges a part.

import { at } from "./data.js";
import type { Heat, Metric } from "./heat_data.js";
import { level, LEVELS } from "./heat_order.js";

/** Height of a row, and of the strip of latencies above all of them. */
export const ROW = 22;
export const STRIP = 44;

/** What there is to draw: rows and traces in the order they are shown in. */
export interface Shown {
  rows: number[];
  columns: number[];
  metric: Metric;
}

/** Which part of it is in sight, in CSS pixels. */
export interface Sight {
  left: number;
  top: number;
  width: number;
  height: number;
  /** Width of the row headers, which cells start right of, and of a column. */
  head: number;
  column: number;
}

/** A place in the order of rows and of columns; -1 is the strip above and the header on the left. */
export interface Spot {
  row: number;
  column: number;
}

export interface Picture {
  /** Take in what is to be drawn; again when colours change. */
  show(next: Shown): void;
  /** Draw the part in sight, with an outline around a spot. */
  draw(sight: Sight, spot: Spot | null): void;
}

interface Colours {
  levels: string[];
  panel: string;
  ink: string;
  bar: string;
  error: string;
}

export function createPicture(canvas: HTMLCanvasElement, heat: Heat): Picture {
  const pixels = document.createElement("canvas");
  const context = contextOf(canvas);
  let shown: Shown = { rows: [], columns: [], metric: "exclusive" };
  let colours = currentColours();
  let slowest = 0;

  const drawCells = (sight: Sight): void => {
    const { left, top, width, height, head, column } = sight;
    const wide = Math.min(width - head, shown.columns.length * column - left);
    const high = Math.min(height - STRIP, shown.rows.length * ROW - top);
    if (wide <= 0 || high <= 0) return;
    context.imageSmoothingEnabled = false;
    context.drawImage(pixels, left / column, top / ROW, wide / column, high / ROW, head, STRIP, wide, high);
    context.fillStyle = colours.panel;
    for (let y = ROW - (top % ROW); y <= high; y += ROW) context.fillRect(head, STRIP + y - 1, wide, 1);
    for (let x = column - (left % column); x <= wide; x += column) {
      context.fillRect(head + x - 1, STRIP, 1, high);
    }
  };
  const drawStrip = (sight: Sight): void => {
    const { left, width, head, column } = sight;
    const last = Math.min(shown.columns.length, Math.ceil((left + width - head) / column));
    const room = STRIP - 10;
    for (let place = Math.floor(left / column); place < last; place++) {
      const trace = at(shown.columns, place);
      const x = head + place * column - left;
      const high = slowest ? (at(heat.traces.latency_us, trace) / slowest) * room : 0;
      context.fillStyle = colours.bar;
      context.fillRect(x, room + 2 - Math.max(1, high), column - 1, Math.max(1, high));
      if (!at(heat.traces.error, trace)) continue;
      context.fillStyle = colours.error;
      context.fillRect(x, STRIP - 6, column - 1, 4);
    }
  };
  const outline = (sight: Sight, { row, column: place }: Spot): void => {
    if (place < 0) return;
    const x = sight.head + place * sight.column - sight.left;
    const y = row < 0 ? 1 : STRIP + row * ROW - sight.top;
    context.strokeStyle = colours.ink;
    context.lineWidth = 2;
    context.strokeRect(x, y, sight.column - 1, row < 0 ? STRIP - 2 : ROW - 1);
  };
  return {
    show: (next) => {
      shown = next;
      colours = currentColours();
      slowest = next.columns.reduce((most, trace) => Math.max(most, at(heat.traces.latency_us, trace)), 0);
      fill(pixels, heat, next, colours.levels);
    },
    draw: (sight, spot) => {
      const scale = devicePixelRatio;
      const [width, height] = [Math.round(sight.width * scale), Math.round(sight.height * scale)];
      if (canvas.width !== width) canvas.width = width;
      if (canvas.height !== height) canvas.height = height;
      context.setTransform(scale, 0, 0, scale, 0, 0);
      context.clearRect(0, 0, sight.width, sight.height);
      drawCells(sight);
      if (spot && spot.row >= 0) outline(sight, spot);
      context.clearRect(0, 0, sight.width, STRIP);
      drawStrip(sight);
      if (spot && spot.row < 0) outline(sight, spot);
    },
  };
}

/** Colour one pixel per cell. */
function fill(pixels: HTMLCanvasElement, heat: Heat, shown: Shown, levels: string[]): void {
  const [width, height] = [shown.columns.length, shown.rows.length];
  pixels.width = Math.max(1, width);
  pixels.height = Math.max(1, height);
  if (!width || !height) return;
  const palette = levels.map(packed);
  const image = new ImageData(width, height);
  const colour = new Uint32Array(image.data.buffer).fill(palette[0] ?? 0);
  const line = new Int32Array(heat.rows.name.length).fill(-1);
  shown.rows.forEach((row, place) => (line[row] = place));
  const held = heat[shown.metric];
  shown.columns.forEach((trace, place) => {
    const latency = at(heat.traces.latency_us, trace);
    const end = at(heat.first, trace + 1);
    for (let cell = at(heat.first, trace); cell < end; cell++) {
      const y = at(line, at(heat.row, cell));
      if (y >= 0) colour[y * width + place] = palette[level(at(held, cell), latency)] ?? 0;
    }
  });
  contextOf(pixels).putImageData(image, 0, 0);
}

/** A colour #rrggbb as a pixel, in the byte order of all machines that browsers run on. */
export function packed(colour: string): number {
  const value = Number.parseInt(colour.slice(1), 16);
  const [red, green, blue] = [value >> 16, (value >> 8) & 255, value & 255];
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

function currentColours(): Colours {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string): string => style.getPropertyValue(name).trim();
  return {
    levels: Array.from({ length: LEVELS }, (_, i) => value(`--heat-${i}`)),
    panel: value("--panel"),
    ink: value("--ink"),
    bar: value("--accent"),
    error: value("--warn"),
  };
}

function contextOf(canvas: HTMLCanvasElement): CanvasRenderingContext2D {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser draws no canvas");
  return context;
}
