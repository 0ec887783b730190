// One hue per service, the same on every page and every day; the style sheet holds the colours.

const HUES = 12;
const SHADES = 3;

/** A style-sheet variable: the hue is of the service, the shade of the operation. */
export function frameColour(service: string, operation: string): string {
  return `var(--frame-${hash(service) % HUES}-${hash(operation) % SHADES})`;
}

/** FNV-1a over UTF-16 units, spread so that small remainders use all bits. */
export function hash(text: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    value = Math.imul(value ^ text.charCodeAt(i), 0x01000193);
  }
  value ^= value >>> 15;
  return Math.imul(value, 0x2c1b3c6d) >>> 8;
}
