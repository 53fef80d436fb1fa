import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** What one attack did, as the table at the end shows it. */
export interface Row {
  readonly file: string;
  readonly attack: string;
  readonly outcome: string;
  readonly memory: string;
  readonly wait: string;
  readonly got: string;
}

const ROWS = new URL('../../../dist/hostile/rows.jsonl', import.meta.url).pathname;
const TABLE = new URL('../../../dist/hostile.md', import.meta.url).pathname;
const HEAD =
  '| file | attack | test | memory gained | longest wait of a neighbour | what the attacker got |\n|---|---|---|---|---|---|';

/** Each file of tests has a process of its own: what they tell is kept in a file until all are done. */
export function addRow(row: Row): void {
  mkdirSync(dirname(ROWS), { recursive: true });
  writeFileSync(ROWS, `${JSON.stringify(row)}\n`, { flag: 'a' });
}

function readRows(): readonly Row[] {
  if (!existsSync(ROWS)) return [];
  return readFileSync(ROWS, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line): Row => JSON.parse(line));
}

function tableOf(rows: readonly Row[]): string {
  const cells = ({ file, attack, outcome, memory, wait, got }: Row) =>
    [file, attack, outcome, memory, wait, got].map((cell) => cell.replaceAll('|', '\\|').replace(/\s+/g, ' '));
  return [HEAD, ...rows.map((row) => `| ${cells(row).join(' | ')} |`)].join('\n');
}

/**
 * Before all files, and after them: prints the rows of this run, and writes those of each attack that was made last to `dist/hostile.md`, so that
 * the files may be run one by one.
 */
export default function setup(): () => void {
  const before = readRows().length;
  return () => {
    const rows = readRows();
    const ran = rows.slice(before);
    if (ran.length === 0) return;
    const last = new Map(rows.map((row) => [`${row.file} ${row.attack}`, row]));
    const kept = [...last.values()].sort((one, other) => one.file.localeCompare(other.file));
    writeFileSync(ROWS, kept.map((row) => `${JSON.stringify(row)}\n`).join(''));
    writeFileSync(TABLE, `${tableOf(kept)}\n`);
    process.stdout.write(`\n${tableOf(ran)}\n\n${kept.length} rows in ${TABLE}\n`);
  };
}
