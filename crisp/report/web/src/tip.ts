// One tooltip for the page, filled with text only and kept inside the window.

import { element } from "./dom.js";

export interface Tip {
  show: (event: MouseEvent, title: string, lines: [label: string, value: string][]) => void;
  hide: () => void;
}

export function createTip(): Tip {
  const box = element("div", { class: "tip", role: "tooltip", hidden: true });
  document.body.append(box);
  addEventListener("scroll", () => (box.hidden = true), { passive: true });
  return {
    show: (event, title, lines) => {
      const list = lines.map(([label, value]) =>
        element("div", {}, element("dt", {}, label), element("dd", {}, value)),
      );
      box.replaceChildren(element("bdi", {}, title), element("dl", {}, ...list));
      box.hidden = false;
      place(box, event.clientX, event.clientY);
    },
    hide: () => {
      box.hidden = true;
    },
  };
}

function place(box: HTMLElement, x: number, y: number): void {
  const gap = 14;
  const { width, height } = box.getBoundingClientRect();
  const left = Math.min(x + gap, innerWidth - width - 4);
  const below = y + gap + height < innerHeight;
  box.style.left = `${Math.max(4, left)}px`;
  box.style.top = `${below ? y + gap : Math.max(4, y - gap - height)}px`;
}
