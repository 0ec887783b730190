// Trace ids as text, and as links where the report knows the address of a trace viewer.

import { element } from "./dom.js";

/** The trace as a link or, without a template, as text that is selected by one click. */
export function traceElement(traceId: string, spanId: string): HTMLElement {
  const template = document.body.dataset.traceUrl;
  if (!template) return element("code", { class: "trace" }, traceId);
  return element(
    "a",
    {
      class: "trace",
      href: traceAddress(template, traceId, spanId),
      target: "_blank",
      rel: "noopener noreferrer",
    },
    traceId,
  );
}

/** The template with both ids in it, escaped. Python has checked that it is http or https. */
export function traceAddress(template: string, traceId: string, spanId: string): string {
  const ids: Record<string, string> = { "{trace_id}": traceId, "{span_id}": spanId };
  return template.replace(/\{(?:trace|span)_id\}/g, (field) => encodeURIComponent(ids[field] ?? ""));
}
