/** The table of the peers: a row for each measurement, a column for each peer, Settee first. */

const ROWS = {
  newOrigin: 'first document stored, new origin',
  secondVisit: '– second visit',
  put: 'PUT of a new document, one by one',
  durable: '– that survives a power cut',
  update: 'PUT of a changed document, one by one',
  put50: 'PUT, 50 at a time, each',
  bulk: '1,000 documents in one request',
  get: 'GET by id, one by one',
  get50: 'GET, 50 at a time, each',
  firstQuery: 'first query of 6,000 documents, with its index',
  query: '– again, other ranges',
  firstSum: 'first sum over half of them',
  sum: '– again, other ranges',
};

/** Milliseconds, and in parentheses how many times as long as Settee's. `versionOf`: of a package. */
export function toTable(values, peers, versionOf) {
  const present = peers.filter(({ key }) => values[`put.${key}`] !== undefined);
  const lines = Object.entries(ROWS).map(([row, name]) => [
    name,
    ...present.map(({ key }) => toCell(values, row, key)),
  ]);
  const all = [['ms', ...present.map(({ name }) => name)], ...lines];
  const widths = all[0].map((_, column) => Math.max(...all.map((cells) => cells[column].length)));
  const toLine = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  const table = [toLine(all[0]), toLine(widths.map((width) => '-'.repeat(width))), ...lines.map(toLine)];
  const notes = present.map(({ name, note, packages = [] }) => {
    const versions = packages.map((title) => `${title} ${versionOf(title)}, `).join('');
    return `- ${name}: ${versions}${note}.`;
  });
  return `${table.join('\n')}\n\n${notes.join('\n')}`;
}

function toCell(values, row, key) {
  const ms = values[`${row}.${key}`];
  if (ms === undefined) return '–';
  const ratio = ms / values[`${row}.settee`];
  return key === 'settee' ? short(ms) : `${short(ms)} (${ratio < 10 ? ratio.toPrecision(2) : ratio.toFixed(0)})`;
}

function short(value) {
  return value >= 100 ? value.toFixed(0) : Number(value.toPrecision(2)).toString();
}
