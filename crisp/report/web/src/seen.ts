// Parts of a page that are filled in only when they come near the window, or are printed.

/** Call `load` once: when the place is about to be seen, or the page to be printed. */
export function whenSeen(place: HTMLElement, load: () => void): void {
  let loaded = false;
  const once = (): void => {
    if (loaded) return;
    loaded = true;
    observer.disconnect();
    removeEventListener("beforeprint", once);
    load();
  };
  const observer = new IntersectionObserver(
    (entries) => {
      if (entries.some((entry) => entry.isIntersecting)) once();
    },
    { rootMargin: "300px" },
  );
  observer.observe(place);
  addEventListener("beforeprint", once);
}
