// Two lines over the days: P95 and, below it, P50. A day without traces is a gap.

import { svg } from "./dom.js";
import { micros } from "./units.js";

const WIDTH = 96;
const HEIGHT = 26;
const EDGE = 3;

type Values = (number | null)[];

export function sparkline(days: string[], p50: Values, p95: Values): SVGElement {
  const most = Math.max(...[...p50, ...p95].map((value) => value ?? 0), 1);
  return svg(
    "svg",
    { class: "sparkline", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img" },
    svg("title", {}, sparklineText(days, p50, p95)),
    ...marks(p95, most, "p95"),
    ...marks(p50, most, "p50"),
  );
}

/** What the drawing shows, in words. */
export function sparklineText(days: string[], p50: Values, p95: Values): string {
  const words = days.map(
    (day, i) => `${day}: P50 ${micros(p50[i] ?? null)}, P95 ${micros(p95[i] ?? null)}`,
  );
  return words.join("\n") || "no day";
}

/** Unbroken runs of points as SVG coordinates; zero is the bottom, `most` the top. */
export function runs(values: Values, most: number): string[][] {
  const step = values.length > 1 ? (WIDTH - 2 * EDGE) / (values.length - 1) : 0;
  const first = values.length > 1 ? EDGE : WIDTH / 2;
  const found: string[][] = [];
  let open: string[] | null = null;
  values.forEach((value, i) => {
    if (value === null) {
      open = null;
      return;
    }
    if (!open) found.push((open = []));
    const y = HEIGHT - EDGE - (value / most) * (HEIGHT - 2 * EDGE);
    open.push(`${(first + i * step).toFixed(1)},${y.toFixed(1)}`);
  });
  return found;
}

function marks(values: Values, most: number, className: string): SVGElement[] {
  return runs(values, most).map((points) => {
    const [cx, cy] = (points[0] ?? "0,0").split(",");
    return points.length > 1
      ? svg("polyline", { class: className, points: points.join(" ") })
      : svg("circle", { class: className, cx: cx ?? 0, cy: cy ?? 0, r: 2.5 });
  });
}
