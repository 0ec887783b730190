// Numbers as people read them; crisp/units.py says the same, one table of cases tests both.

const ABSENT = "–";
const HOUR_US = 3_600_000_000;
const FORMATS = { 0: digits(0), 1: digits(1), 2: digits(2) };

/** A time with three digits and its unit: 850 µs, 12.3 ms, 1.20 s, 2.50 h. */
export function micros(us: number | null): string {
  if (us === null || !Number.isFinite(us)) return ABSENT;
  if (us < 0) return `−${micros(-us)}`;
  if (us < 999.5) return `${small(us)} µs`;
  if (us < 999_500) return `${three(us / 1_000)} ms`;
  if (us < 2 * HOUR_US) return `${three(us / 1_000_000)} s`;
  return `${three(us / HOUR_US)} h`;
}

/** A change of a time with its sign: +12.3 ms, −4.00 ms, 0 µs. */
export function signed(us: number): string {
  return us > 0 ? `+${micros(us)}` : micros(us);
}

/** A whole number with thousands separated. */
export function count(value: number | null): string {
  return value === null || !Number.isFinite(value) ? ABSENT : fixed(value, 0);
}

/** So many traces, in words. */
export function traces(number: number): string {
  return `${count(number)} ${number === 1 ? "trace" : "traces"}`;
}

/** A ratio in percent with one decimal; what is not quite nothing or all is told from it. */
export function share(ratio: number | null): string {
  if (ratio === null || !Number.isFinite(ratio)) return ABSENT;
  const percent = 100 * ratio;
  if (percent <= 0) return "0 %";
  if (percent < 0.05) return "<0.1 %";
  if (percent >= 99.95 && percent < 100) return ">99.9 %";
  return percent === 100 ? "100 %" : `${fixed(percent, 1)} %`;
}

/** A change as a ratio, in percent with its sign: +12.3 %, −4.0 %; beyond ten times as a factor. */
export function changed(ratio: number | null): string {
  if (ratio === null || !Number.isFinite(ratio)) return ABSENT;
  if (ratio >= 10) return `×${fixed(ratio + 1, 0)}`;
  const size = fixed(Math.abs(100 * ratio), 1);
  return size === "0.0" ? "0.0 %" : `${ratio < 0 ? "−" : "+"}${size} %`;
}

/** A moment in UTC, to the second. */
export function moment(us: number): string {
  const date = new Date(us / 1_000);
  if (Number.isNaN(date.getTime())) return ABSENT;
  return `${date.toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

function small(us: number): string {
  if (us === 0) return "0";
  if (us < 0.05) return "<0.1";
  return us < 9.95 ? fixed(us, 1).replace(/\.0$/, "") : fixed(us, 0);
}

function three(value: number): string {
  return fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/** Rounded half up, so that both languages round alike. */
function fixed(value: number, digits: 0 | 1 | 2): string {
  const scale = 10 ** digits;
  return FORMATS[digits].format(Math.floor(value * scale + 0.5) / scale);
}

function digits(number: number): Intl.NumberFormat {
  return new Intl.NumberFormat("en-US", {
    minimumFractionDigits: number,
    maximumFractionDigits: number,
  });
}
