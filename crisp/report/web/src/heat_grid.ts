// The heat map as a grid that scrolls: row headers, cells on a canvas, a cursor, and the pointer.

import type { EndpointData } from "./data.js";
import { element } from "./dom.js";
import type { Heat } from "./heat_data.js";
import { type GridShown, heatHeader } from "./heat_header.js";
import { createPicture, ROW, type Sight, type Spot, STRIP } from "./heat_picture.js";
import { count } from "./units.js";

const ROWS_IN_SIGHT = 20;
const COLUMN = { least: 8, most: 24 };
const HEAD = { least: 140, most: 340, part: 0.36 };
const EDGES = 22; // room for a scrollbar and both borders; heat.html.jinja reserves the same

export interface GridEvents {
  /** A spot is pointed at or reached by keyboard; null when none is any more. */
  onSpot: (spot: Spot | null, where: MouseEvent, byKey: boolean) => void;
  onPick: (spot: Spot) => void;
  onEscape: () => void;
}

export interface HeatGrid {
  /** Show these; `empty` stands in their place where there are none. */
  show(next: GridShown, empty: string): void;
  redraw(): void;
}

export function createHeatGrid(
  place: HTMLElement,
  data: EndpointData,
  heat: Heat,
  events: GridEvents,
): HeatGrid {
  const canvas = element("canvas", { "aria-hidden": "true" });
  const heads = element("div", { class: "heat-heads" });
  const corner = element("div", { class: "heat-corner" });
  const space = element("div", { class: "heat-space" }, canvas, heads, corner);
  const scroller = element(
    "div",
    {
      class: "heat-scroll",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "heat map",
      "aria-describedby": "heat-help",
    },
    space,
  );
  const message = element("p", { class: "empty", hidden: true });
  scroller.style.height = `${STRIP + ROW * Math.min(ROWS_IN_SIGHT, heat.rows.name.length) + EDGES}px`;
  place.replaceChildren(scroller, message);

  const picture = createPicture(canvas, heat);
  let shown: GridShown = { rows: [], columns: [], metric: "exclusive", sort: "p50", sorted: null };
  let [column, head] = [COLUMN.least, HEAD.least];
  let cursor: Spot = { row: 0, column: 0 };
  let spot: Spot | null = null; // outlined: the cursor, or what the pointer is at
  let pointer = { x: -1, y: -1 };
  let pending = 0;
  let drawnHeads = "";

  const sight = (): Sight => ({
    left: scroller.scrollLeft,
    top: scroller.scrollTop,
    width: scroller.clientWidth,
    height: scroller.clientHeight,
    head,
    column,
  });
  const draw = (): void => {
    cancelAnimationFrame(pending);
    pending = 0;
    const seen = sight();
    canvas.style.width = `${seen.width}px`;
    canvas.style.height = `${seen.height}px`;
    picture.draw(seen, spot);
    drawHeads(seen);
  };
  const soon = (): void => {
    pending ||= requestAnimationFrame(draw);
  };
  const drawHeads = (seen: Sight): void => {
    const first = Math.floor(seen.top / ROW);
    const last = Math.min(shown.rows.length, Math.ceil((seen.top + seen.height - STRIP) / ROW));
    const wanted = `${first} ${last}`;
    if (wanted !== drawnHeads) {
      drawnHeads = wanted;
      const rows = shown.rows.slice(first, last);
      heads.replaceChildren(...rows.map((row, i) => heatHeader(data, heat, shown, row, first + i)));
    }
    const marked = spot && spot.column < 0 ? spot.row - first : -1;
    [...heads.children].forEach((made, i) => made.classList.toggle("marked", i === marked)); // in place, or a click is lost
  };
  const measure = (): void => {
    const width = scroller.clientWidth;
    head = Math.round(Math.min(HEAD.most, Math.max(HEAD.least, HEAD.part * width)));
    const room = Math.floor((width - head) / Math.max(1, shown.columns.length));
    column = Math.min(COLUMN.most, Math.max(COLUMN.least, room));
    heads.style.width = corner.style.width = `${head}px`;
    space.style.width = `${Math.max(width, head + column * shown.columns.length)}px`;
    space.style.height = `${STRIP + ROW * shown.rows.length}px`;
  };
  const spotAt = (event: MouseEvent): Spot | null => {
    const box = scroller.getBoundingClientRect();
    const x = event.clientX - box.left - scroller.clientLeft;
    const y = event.clientY - box.top - scroller.clientTop;
    if (x >= scroller.clientWidth || y >= scroller.clientHeight) return null; // a scrollbar
    const found = {
      row: y < STRIP ? -1 : Math.floor((y - STRIP + scroller.scrollTop) / ROW),
      column: x < head ? -1 : Math.floor((x - head + scroller.scrollLeft) / column),
    };
    const inside = found.row < shown.rows.length && found.column < shown.columns.length;
    return inside && (found.row >= 0 || found.column >= 0) ? found : null;
  };
  const point = (next: Spot | null, where: MouseEvent, byKey: boolean): void => {
    const same = next?.row === spot?.row && next?.column === spot?.column;
    spot = next;
    if (!same) soon();
    if (!same || byKey || next) events.onSpot(next, where, byKey);
  };
  const moveTo = (row: number, to: number): void => {
    if (!shown.rows.length || !shown.columns.length) return;
    cursor = {
      row: Math.max(0, Math.min(shown.rows.length - 1, row)),
      column: Math.max(-1, Math.min(shown.columns.length - 1, to)),
    };
    reveal(scroller, cursor, head, column);
    const box = scroller.getBoundingClientRect();
    const clientX = box.left + (cursor.column < 0 ? 20 : head + (cursor.column + 1) * column - scroller.scrollLeft);
    const clientY = box.top + STRIP + (cursor.row + 1) * ROW - scroller.scrollTop;
    point(cursor, new MouseEvent("mousemove", { clientX, clientY }), true);
  };
  listen(scroller, {
    scroll: () => {
      soon();
      if (spot && spot !== cursor) point(null, new MouseEvent("mouseleave"), false);
    },
    mousemove: (event) => {
      const move = event as MouseEvent;
      // Scrolling by keyboard moves the page under a pointer that rests: that points at nothing.
      const rests = move.clientX === pointer.x && move.clientY === pointer.y;
      pointer = { x: move.clientX, y: move.clientY };
      if (!rests) point(spotAt(move), move, false);
    },
    mouseleave: (event) => {
      point(null, event as MouseEvent, false);
    },
    blur: (event) => {
      point(null, event as MouseEvent, false);
    },
    focus: () => {
      if (scroller.matches(":focus-visible")) moveTo(cursor.row, cursor.column);
    },
    click: (event) => {
      const picked = spotAt(event as MouseEvent);
      if (!picked) return;
      if (picked.row >= 0) cursor = picked;
      events.onPick(picked);
    },
    keydown: (event) => {
      const key = event as KeyboardEvent;
      const { row, column: at_ } = cursor;
      const page = Math.max(1, Math.floor((scroller.clientHeight - STRIP) / ROW) - 1);
      const end = shown.columns.length - 1;
      const whole = key.ctrlKey || key.metaKey;
      const moves: Record<string, () => void> = {
        ArrowDown: () => { moveTo(row + 1, at_); },
        ArrowUp: () => { moveTo(row - 1, at_); },
        ArrowRight: () => { moveTo(row, at_ + 1); },
        ArrowLeft: () => { moveTo(row, at_ - 1); },
        PageDown: () => { moveTo(row + page, at_); },
        PageUp: () => { moveTo(row - page, at_); },
        Home: () => { moveTo(whole ? 0 : row, -1); },
        End: () => { moveTo(whole ? shown.rows.length - 1 : row, end); },
        Enter: () => {
          if (spot === cursor) events.onPick(cursor);
          else moveTo(row, at_); // what is not in sight is not picked
        },
        Escape: events.onEscape,
      };
      const move = moves[key.key];
      if (!move || key.altKey || (whole && !["Home", "End"].includes(key.key))) return;
      event.preventDefault();
      move();
    },
  });
  new ResizeObserver(() => {
    measure();
    soon();
  }).observe(scroller);
  return {
    show: (next, empty) => {
      const cursorWas = spot === cursor;
      shown = next;
      message.textContent = empty;
      message.hidden = Boolean(next.rows.length && next.columns.length);
      const title = `${count(next.columns.length)} traces by ${count(next.rows.length)} endpoints`;
      scroller.setAttribute("aria-label", `Heat map: ${title}`);
      corner.replaceChildren(element("span", {}, "Endpoint"), element("span", {}, next.sort.toUpperCase()));
      drawnHeads = "";
      spot = null;
      picture.show(next);
      measure();
      draw(); // now: what is about to be printed has no later frame
      if (cursorWas && document.activeElement === scroller) moveTo(cursor.row, cursor.column);
    },
    redraw: () => {
      picture.show(shown);
      soon();
    },
  };
}

/** Scroll as little as shows a spot. */
function reveal(scroller: HTMLElement, spot: Spot, head: number, column: number): void {
  const top = spot.row * ROW;
  const left = Math.max(0, spot.column) * column;
  const high = scroller.clientHeight - STRIP - ROW;
  const wide = scroller.clientWidth - head - column;
  scroller.scrollTop = Math.max(top - high, Math.min(top, scroller.scrollTop));
  scroller.scrollLeft = Math.max(left - wide, Math.min(left, scroller.scrollLeft));
}

function listen(target: HTMLElement, handlers: Record<string, (event: Event) => void>): void {
  for (const [kind, handler] of Object.entries(handlers)) target.addEventListener(kind, handler);
}
