// What the heat map says about a cell and a row: in its tooltip, and to who cannot see it.

import { chain } from "./calls.js";
import { at, type EndpointData } from "./data.js";
import { isolated } from "./dom.js";
import { type Heat, heldBy, type Metric, percentiles } from "./heat_data.js";
import { SORTS, title } from "./heat_state.js";
import { micros, moment, share } from "./units.js";

const NAMED = 5; // calls of a chain that are named; what is between the first and the last is …

export type Lines = [label: string, value: string][];

export const METRIC_WORDS: Record<Metric, string> = {
  exclusive: "held itself",
  inclusive: "held with all below",
};

/** Why no row is shown. */
export function noRows(heat: Heat): string {
  return heat.rows.name.length ? "No endpoint matches." : "No endpoint holds time in these traces.";
}

/** All there is to say about a cell. */
export function cellLines(
  data: EndpointData,
  heat: Heat,
  metric: Metric,
  trace: number,
  row: number,
): Lines {
  const latency = at(heat.traces.latency_us, trace);
  const held = heldBy(heat, metric, trace, row);
  return [
    [METRIC_WORDS[metric], `${micros(held)} · ${share(latency ? held / latency : 0)}`],
    ...traceLines(data, heat, trace),
    ["trace", at(heat.traces.trace_id, trace)],
    ...titledChains(data, heat, row),
  ];
}

/** All there is to say about a trace. */
export function traceLines(data: EndpointData, heat: Heat, trace: number): Lines {
  const lines: Lines = [
    ["latency of the trace", micros(at(heat.traces.latency_us, trace))],
    ["band", at(data.bands, at(heat.traces.band, trace)).label],
    ["started", moment(at(heat.traces.start_us, trace))],
  ];
  if (at(heat.traces.error, trace)) lines.push(["the request", "failed"]);
  return lines;
}

/** All there is to say about a row. */
export function rowLines(data: EndpointData, heat: Heat, metric: Metric, row: number): Lines {
  const numbers = SORTS.map(
    (sort): [string, string] => [
      `${sort.toUpperCase()} ${METRIC_WORDS[metric]}`,
      micros(at(percentiles(heat, metric, sort), row)),
    ],
  );
  return [...numbers, ...titledChains(data, heat, row)];
}

/** The call chains to a row, each with its share of the time the row holds itself. */
export function chainLines(data: EndpointData, heat: Heat, row: number): Lines {
  const shares = at(heat.rows.shares, row);
  return at(heat.rows.chains, row).map((path, i) => [chainText(data, path), share(at(shares, i))]);
}

/** A cell in one sentence. */
export function cellSentence(
  data: EndpointData,
  heat: Heat,
  metric: Metric,
  trace: number,
  row: number,
): string {
  const latency = at(heat.traces.latency_us, trace);
  const held = heldBy(heat, metric, trace, row);
  const part = `${share(latency ? held / latency : 0)} of ${micros(latency)}`;
  const band = at(data.bands, at(heat.traces.band, trace)).label;
  const time = `${micros(held)} ${METRIC_WORDS[metric]}`;
  return `${rowTitle(data, heat, row)}: ${time}, ${part}, band ${band}, trace `;
}

/** A row in one sentence. */
export function rowSentence(data: EndpointData, heat: Heat, metric: Metric, row: number): string {
  const words = rowLines(data, heat, metric, row).map(([label, value]) => `${label} ${value}`);
  return `${rowTitle(data, heat, row)}: ${words.join("; ")}`;
}

export function rowTitle(data: EndpointData, heat: Heat, row: number): string {
  return isolated(title(data, at(heat.rows.name, row)));
}

function titledChains(data: EndpointData, heat: Heat, row: number): Lines {
  return [["call chains", "share of its own time"], ...chainLines(data, heat, row)];
}

function chainText(data: EndpointData, path: number): string {
  const calls = chain(data.paths.parent, path).map((row) => {
    const [, operation] = at(data.names, at(data.paths.name, row));
    return isolated(operation || "(no name)");
  });
  const near = calls.length > NAMED ? [...calls.slice(0, 1), "…", ...calls.slice(1 - NAMED)] : calls;
  return near.join(" › ");
}
