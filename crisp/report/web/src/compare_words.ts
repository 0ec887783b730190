// A comparison in words.

import { nameOf } from "./ranking.js";
import type { CallTree } from "./calls.js";
import { type By, type Change, doubtful, type Group, type Pair } from "./compare_pair.js";
import { isolated } from "./dom.js";
import { count, micros, share, traces } from "./units.js";

/** A time or a part of the latency, as the page is normalised. */
export function amount(value: number, by: By): string {
  if (by === "time") return micros(value);
  return value < 0 ? `−${share(-value)}` : share(value);
}

/** A difference with its sign; parts of the latency differ by percentage points. */
export function signed(value: number, by: By): string {
  return value > 0 ? withSign("+", value, by) : value < 0 ? withSign("−", -value, by) : amountOf(0, by);
}

/** Next to nothing has no sign: "<0.1 points". */
function withSign(sign: string, size: number, by: By): string {
  const text = amountOf(size, by);
  return text.startsWith("<") ? text : sign + text;
}

function amountOf(value: number, by: By): string {
  return by === "time" ? micros(value) : share(value).replace("%", "points");
}

/** Where a change may lie: "0.80 to 1.60 ms"; "" where that is unknown. */
export function interval(change: Change, by: By): string {
  if (!change.interval) return "";
  const [low, high] = change.interval.map((end) => (end < 0 ? withSign("−", -end, by) : amountOf(end, by)));
  if (low === undefined || high === undefined) return "";
  const unit = / \S+$/.exec(high)?.[0] ?? "";
  const same = unit !== "" && low.endsWith(unit);
  return `${same ? low.slice(0, -unit.length) : low} to ${high}`;
}

/** "+1.20 ms (0.80 to 1.60 ms)" */
export function withInterval(change: Change, by: By): string {
  const ends = interval(change, by);
  return signed(change.value, by) + (ends && ` (${ends})`);
}

/** What happened to the latency, and which call path explains most of it. */
export function sentence(tree: CallTree, pair: Pair): string {
  const [a, b] = [isolated(pair.a.group.label), isolated(pair.b.group.label)];
  const { value } = pair.latency;
  const ends = interval(pair.latency, "time");
  if (doubtful(pair.latency)) {
    const why = ends
      ? `could be noise: the true change lies somewhere from ${ends}`
      : "may be chance: too few traces are kept to say how sure it is";
    return `${b} takes ${micros(pair.b.latency)} on average, ${a} ${micros(pair.a.latency)}. That difference of ${signed(value, "time")} ${why}.`;
  }
  const [low, high] = pair.latency.interval ?? [0, 0];
  const near = value > 0 ? ends : interval({ value: -value, interval: [-high, -low] }, "time");
  const text = `${b} is ${micros(Math.abs(value))} ${value > 0 ? "slower" : "faster"} than ${a} on average (${near}).`;
  const most = pair.changes
    .filter((found) => !doubtful(found.time) && found.time.value * value > 0)
    .sort((one, two) => Math.abs(two.time.value) - Math.abs(one.time.value))[0];
  if (!most) return `${text} No single call path clearly explains it.`;
  const name = isolated(nameOf(tree, most.row).join("::"));
  const size = micros(Math.abs(most.time.value));
  if (Math.abs(most.time.value) <= Math.abs(value)) return `${text} ${name} explains ${size} of it.`;
  const [own, others] = value > 0 ? ["more", "faster"] : ["less", "slower"];
  return `${text} ${name} alone takes ${size} ${own}; other calls became ${others}.`;
}

/** What keeps the numbers of a group from being trusted; "" where nothing does. */
export function caution(group: Group, thin: number): string {
  const label = isolated(group.label);
  const notes = [];
  if (group.missing) {
    notes.push(
      `${label} is thin: it has ${traces(group.traces)}, ${count(group.missing)} more ${group.missing === 1 ? "is" : "are"} needed for ${count(thin)}.`,
    );
  }
  if (group.kept < 2) {
    notes.push(`Fewer than 2 traces of ${label} are kept whole, so nothing says how sure its numbers are.`);
  }
  return notes.join(" ");
}
