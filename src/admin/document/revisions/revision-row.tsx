import { formatCount } from '../../components/format.ts';
import type { RevisionStatus } from '../../server/revision-tree.ts';
import type { TreeRow } from './tree-layout.ts';

export type Side = 'left' | 'right';

interface RevisionRowProps {
  readonly row: TreeRow;
  /** The revision that it replaces. */
  readonly parent: string | undefined;
  readonly statuses: ReadonlyMap<string, RevisionStatus>;
  readonly labels: ReadonlyMap<string, string>;
  readonly isWinner: boolean;
  /** A leaf that is not deleted. */
  readonly isConflict: boolean;
  readonly chosen: Readonly<Record<Side, string | undefined>>;
  readonly onChoose: (side: Side, rev: string) => void;
  readonly onUnfold: () => void;
}

export function RevisionRow(props: RevisionRowProps) {
  const { row, parent, statuses, labels, isWinner, isConflict, onUnfold } = props;
  const [rev = ''] = row.revs;
  if (row.revs.length > 1)
    return (
      <li class="revision-row">
        <button type="button" class="quiet" onClick={onUnfold}>
          {formatCount(row.revs.length)} revisions, each replaced by the next
        </button>
      </li>
    );
  const status = statuses.get(rev) ?? 'unknown';
  const label = labels.get(rev) ?? rev;
  return (
    <li class="revision-row">
      <code title={rev}>{label}</code>
      {isWinner && <span class="tag good">winner</span>}
      {!isWinner && isConflict && <span class="tag warn">conflict</span>}
      {status === 'deleted' && <span class="tag bad">deleted</span>}
      {status === 'missing' && <span class="tag">body is gone</span>}
      <span class="hidden">{parent === undefined ? '' : `replaces ${labels.get(parent) ?? parent}`}</span>
      {parent === undefined && !rev.startsWith('1-') && (
        <span class="muted revision-note">earlier ones are forgotten</span>
      )}
      <span class="spring" />
      {status !== 'missing' && (
        <>
          <Choice {...props} side="left" rev={rev} label={label} />
          <Choice {...props} side="right" rev={rev} label={label} />
        </>
      )}
    </li>
  );
}

function Choice({
  side,
  rev,
  label,
  chosen,
  onChoose,
}: RevisionRowProps & { readonly side: Side; readonly rev: string; readonly label: string }) {
  return (
    <label class="revision-choice">
      <input
        type="radio"
        name={`revision ${side}`}
        aria-label={`${label} on the ${side}`}
        checked={chosen[side] === rev}
        onChange={() => onChoose(side, rev)}
      />
    </label>
  );
}
