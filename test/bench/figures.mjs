/** Figures: how they are made of several measurements, how they are compared with what is asked, and how they are shown. */

export function median(values) {
  return quantile(values, 0.5);
}

export function quantile(values, fraction) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * fraction))];
}

/**
 * Runs each of several measurements in turn, `rounds` times, so that what the machine does besides meets all of them.
 * The first round warms up and counts for nothing. Gives the median of each.
 */
export async function interleave(rounds, measurements) {
  const values = Object.fromEntries(Object.keys(measurements).map((name) => [name, []]));
  for (let round = 0; round <= rounds; round++) {
    for (const [name, measure] of Object.entries(measurements)) {
      const value = await measure(round);
      if (round > 0) values[name].push(value);
    }
  }
  return Object.fromEntries(Object.entries(values).map(([name, list]) => [name, median(list)]));
}

/**
 * One line of the table. `asked` bounds the ratio of ours and the floor, or ours itself where there is no floor:
 * `{ atMost }` or `{ atLeast }`; without it the line is for information.
 */
export function figure({ name, ours, floor, floorName, unit, asked, note }) {
  const ratio = floor === undefined ? undefined : ours / floor;
  const bounded = ratio ?? ours;
  const ok = asked && (asked.atMost === undefined ? bounded >= asked.atLeast : bounded <= asked.atMost);
  return { name, ours, floor, floorName, unit, ratio, asked, ok, note };
}

const columns = ['figure', 'ours', 'floor or peer', 'ratio', 'asked', 'ok'];

export function toMarkdown(figures) {
  const rows = figures.map(toCells);
  const widths = columns.map((title, column) => Math.max(title.length, ...rows.map((row) => row[column].length)));
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  return [line(columns), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n');
}

function toCells({ name, ours, floor, floorName, unit, ratio, asked, ok, note }) {
  return [
    note === undefined ? name : `${name} (${note})`,
    `${short(ours)} ${unit}`,
    floor === undefined ? '' : `${short(floor)} ${unit}: ${floorName}`,
    ratio === undefined ? '' : ratio < 0.1 ? ratio.toPrecision(2) : ratio.toFixed(2),
    asked === undefined ? '' : `${asked.atMost === undefined ? '≥' : '≤'} ${asked.atMost ?? asked.atLeast}`,
    asked === undefined ? '' : ok ? 'yes' : 'NO',
  ];
}

/** Three digits, or the whole number where it has more. */
function short(value) {
  return Math.abs(value) >= 100 ? value.toFixed(0) : Number(value.toPrecision(3)).toString();
}
