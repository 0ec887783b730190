// The band table as a control: a box per band for any union, "only" for one, "all bands".

import type { Sums } from "./calls.js";
import { at, type EndpointData } from "./data.js";
import { byId } from "./dom.js";
import { micros, traces } from "./units.js";
import { chosen } from "./view.js";

export interface Chooser {
  show(bands: number[] | null, sums: Sums): void;
}

export function createChooser(
  data: EndpointData,
  onChoose: (bands: number[] | null) => void,
): Chooser {
  const table = byId("bands");
  const boxes = [...table.querySelectorAll<HTMLInputElement>("input[data-band]")];
  const ticked = (): number[] => boxes.flatMap((box, band) => (box.checked ? [band] : []));
  for (const [band, box] of boxes.entries()) {
    box.disabled = at(data.bands, band).traces === 0;
    box.addEventListener("change", () => {
      onChoose(chosen(ticked(), boxes.length)); // nothing ticked means all again
    });
  }
  for (const button of table.querySelectorAll<HTMLButtonElement>("button[data-only]")) {
    const only = button.dataset.only;
    button.disabled = only !== "all" && at(data.bands, Number(only)).traces === 0;
    button.addEventListener("click", () => {
      onChoose(only === "all" ? null : chosen([Number(only)], boxes.length));
    });
  }
  return {
    show: (bands, sums) => {
      boxes.forEach((box, band) => {
        box.checked = bands?.includes(band) ?? true;
        box.closest("tr")?.classList.toggle("out", !box.checked);
      });
      byId("chosen").textContent = chosenText(data, bands);
      byId("chosen-mean").textContent = micros(at(sums.total, 0) / sums.requests);
      byId("chosen-traces").textContent = traces(sums.requests);
    },
  };
}

/** The chosen bands in words. */
export function chosenText(data: EndpointData, bands: number[] | null): string {
  return bands?.map((band) => at(data.bands, band).label).join(" + ") ?? "all bands";
}
