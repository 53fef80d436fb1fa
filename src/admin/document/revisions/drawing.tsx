import type { RevisionStatus } from '../../server/revision-tree.ts';
import type { TreeRow } from './tree-layout.ts';

/** Pixels. The list beside the drawing has rows of the same height. */
export const ROW_HEIGHT = 40;
const LANE_WIDTH = 16;
const MARGIN = 12;

/** How wide the drawing is. */
export function drawingWidth(rows: readonly TreeRow[]): number {
  return MARGIN * 2 + rows.reduce((most, { lane }) => Math.max(most, lane), 0) * LANE_WIDTH;
}

interface DrawingProps {
  readonly rows: readonly TreeRow[];
  readonly statuses: ReadonlyMap<string, RevisionStatus>;
  readonly winner: string | undefined;
}

/** The lines and dots of a tree. The list beside it says the same in words. */
export function Drawing({ rows, statuses, winner }: DrawingProps) {
  const width = drawingWidth(rows);
  const height = rows.length * ROW_HEIGHT;
  return (
    <svg class="tree-drawing" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {rows.map((row, at) => (
        <path
          key={row.revs[0]}
          class={row.parent === undefined ? 'tree-line begin' : 'tree-line'}
          d={lineOf(rows, at)}
        />
      ))}
      {rows.map((row, at) => (
        <Dot key={row.revs[0]} row={row} at={at} status={statusOf(row, statuses)} isWinner={row.revs[0] === winner} />
      ))}
    </svg>
  );
}

function xOf({ lane }: TreeRow): number {
  return MARGIN + lane * LANE_WIDTH;
}

function yOf(at: number): number {
  return (at + 0.5) * ROW_HEIGHT;
}

/** From a row to the one that it replaces, which is below; or to nothing, if earlier ones are forgotten. */
function lineOf(rows: readonly TreeRow[], at: number): string {
  const row = rows[at];
  if (row === undefined) return '';
  const [x, y] = [xOf(row), yOf(at)];
  const parent = row.parent === undefined ? undefined : rows[row.parent];
  if (row.parent === undefined || parent === undefined)
    return row.revs.at(-1)?.startsWith('1-') === true ? '' : `M${x} ${y}V${y + ROW_HEIGHT / 2}`;
  const [parentX, parentY] = [xOf(parent), yOf(row.parent)];
  if (parentX === x) return `M${x} ${y}V${parentY}`;
  return `M${x} ${y}Q${x} ${y + ROW_HEIGHT / 2} ${parentX} ${y + ROW_HEIGHT * 0.6}V${parentY}`;
}

type DotKind = 'run' | RevisionStatus;

function statusOf({ revs }: TreeRow, statuses: ReadonlyMap<string, RevisionStatus>): DotKind {
  const [first = ''] = revs;
  return revs.length > 1 ? 'run' : (statuses.get(first) ?? 'unknown');
}

interface DotProps {
  readonly row: TreeRow;
  readonly at: number;
  readonly status: DotKind;
  readonly isWinner: boolean;
}

function Dot({ row, at, status, isWinner }: DotProps) {
  const [x, y] = [xOf(row), yOf(at)];
  if (status === 'run') return <path class="tree-run" d={`M${x} ${y - 6}v.01M${x} ${y}v.01M${x} ${y + 6}v.01`} />;
  if (status === 'deleted')
    return <path class="tree-deleted" d={`M${x - 5} ${y - 5}l10 10M${x + 5} ${y - 5}l-10 10`} />;
  return (
    <>
      {isWinner && <circle class="tree-winner" cx={x} cy={y} r={8} />}
      <circle class={status === 'available' ? 'tree-dot' : 'tree-dot gone'} cx={x} cy={y} r={5} />
    </>
  );
}
