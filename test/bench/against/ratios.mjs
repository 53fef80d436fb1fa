/** How the figures of two builds are compared, of which one has a twin. */
import { median } from '../figures.mjs';

export const BUILDS = ['former', 'current', 'twin'];
/** A ratio below this, and by more than the noise, is a loss. */
const LOSS = 0.9;

/** No build is always the first. */
export function inTurn(round) {
  const at = round % BUILDS.length;
  const turned = [...BUILDS.slice(at), ...BUILDS.slice(0, at)];
  return round % 2 === 0 ? turned : turned.reverse();
}

/** Above 1: less than before. `values`: by build, a number for each generation. */
export function ratioOf({ former, current, twin }) {
  return median(former) / median([...current, ...twin]);
}

/** What this build differs from itself. */
export function noiseOf({ current, twin }) {
  return Math.max(
    Math.abs(1 - median(current) / median(twin)),
    median(current.map((value, at) => Math.abs(1 - value / twin[at]))),
  );
}

export function isLoss(ratio, noise) {
  return ratio + noise < LOSS;
}

/** Lines of a table in Markdown. */
export function toLines(titles, rows) {
  const widths = titles.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [line(titles), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

/** Three digits, or the whole number where it has more. */
export function short(value) {
  return Math.abs(value) >= 100 ? value.toFixed(0) : Number(value.toPrecision(3)).toString();
}
