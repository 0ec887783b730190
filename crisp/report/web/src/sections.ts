// Links to places of the page; the address keeps the view, so they only scroll.

import { addressFields, showInAddress } from "./view.js";

export function linkSections(): void {
  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const link = event.target.closest<HTMLAnchorElement>('a[href^="#"]');
    const place = document.getElementById(link?.hash.slice(1) ?? "");
    if (!place) return;
    event.preventDefault();
    goTo(place);
  });
}

/** Go to the section that a link to this page names, once. */
export function showLinkedSection(): void {
  const section = addressFields(location.hash).get("section");
  if (section === null) return;
  showInAddress({ section: null });
  const place = document.getElementById(`${section}-title`);
  if (place) goTo(place);
}

/** Scroll to a place; the keyboard goes on from there. */
export function goTo(place: HTMLElement): void {
  place.tabIndex = -1;
  place.focus({ preventScroll: true });
  place.scrollIntoView({ block: "start" });
}
