// Links to the sections of a long page; the address keeps the view, so they only scroll.

import { byId } from "./dom.js";

export function linkSections(): void {
  byId("sections").addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const heading = document.getElementById(link?.hash.slice(1) ?? "");
    if (!heading) return;
    event.preventDefault();
    heading.tabIndex = -1; // the keyboard goes on from there
    heading.focus({ preventScroll: true });
    heading.scrollIntoView({ block: "start" });
  });
}
