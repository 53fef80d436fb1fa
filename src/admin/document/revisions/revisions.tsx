/** The tree of a document's revisions, and any two of them side by side. */
import { useMemo, useState } from 'preact/hooks';
import { ErrorNote } from '../../components/error-note.tsx';
import { formatMany } from '../../components/format.ts';
import { useLoaded } from '../../components/load.ts';
import { type RevisionTree, readRevisionTree } from '../../server/revision-tree.ts';
import { Comparison } from './comparison.tsx';
import { Drawing, drawingWidth } from './drawing.tsx';
import { revisionLabels } from './labels.ts';
import { RevisionRow } from './revision-row.tsx';
import { treeRows } from './tree-layout.ts';
import './revisions.css';

interface RevisionsProps {
  readonly database: string;
  readonly id: string;
  /** The leaves that the page knows. With others it is another tree. */
  readonly leaves: string;
  /** Takes the text of a revision into the editor. */
  readonly onTake: (text: string) => void;
}

export function Revisions({ database, id, leaves, onTake }: RevisionsProps) {
  const {
    value: tree,
    failure,
    isLoading,
    reload,
  } = useLoaded((signal) => readRevisionTree(database, id, signal), [database, id, leaves]);
  if (tree === undefined) return <ErrorNote failure={failure} retry={reload} />;
  if (tree.branches.length === 0) return isLoading ? null : <p class="note">This document has no revisions yet.</p>;
  return (
    <>
      <ErrorNote failure={failure} retry={reload} />
      <Tree key={tree.branches[0]?.revs[0]} database={database} id={id} tree={tree} onTake={onTake} />
    </>
  );
}

interface TreeProps extends Omit<RevisionsProps, 'leaves'> {
  readonly tree: RevisionTree;
}

function Tree({ database, id, tree, onTake }: TreeProps) {
  const { branches, statuses } = tree;
  const [left, setLeft] = useState(() => otherThanWinner(tree));
  const [right, setRight] = useState(branches[0]?.revs[0]);
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  const labels = useMemo(() => revisionLabels(branches.flatMap(({ revs }) => revs)), [branches]);
  const rows = useMemo(() => treeRows(branches, unfolded), [branches, unfolded]);
  const width = drawingWidth(rows);
  const leaves = useMemo(() => new Map(branches.map(({ revs, isDeleted }) => [revs[0] ?? '', isDeleted])), [branches]);
  return (
    <section class="revisions" aria-label="Revisions">
      <p class="muted">
        {formatMany(labels.size, 'revision')}, {formatMany(branches.length, 'branch', 'branches')}. This is not a
        history: the contents of replaced revisions may be dropped at any time, within seconds or only by a compaction.
        Then only their names stay.
      </p>
      <div class="revision-tree">
        <div class="revision-head" aria-hidden="true">
          <span>Left</span>
          <span>Right</span>
        </div>
        <div class="revision-body" style={{ '--drawing-width': `${width}px` }}>
          <Drawing rows={rows} statuses={statuses} winner={branches[0]?.revs[0]} />
          <ol aria-label="Revisions, what replaces above what is replaced">
            {rows.map((row) => (
              <RevisionRow
                key={row.revs[0]}
                row={row}
                parent={row.parent === undefined ? undefined : rows[row.parent]?.revs[0]}
                statuses={statuses}
                labels={labels}
                isWinner={row.revs[0] === branches[0]?.revs[0]}
                isConflict={row.isLeaf && leaves.get(row.revs[0] ?? '') === false}
                chosen={{ left, right }}
                onChoose={(side, one) => (side === 'left' ? setLeft(one) : setRight(one))}
                onUnfold={() => setUnfolded(new Set([...unfolded, ...row.revs]))}
              />
            ))}
          </ol>
        </div>
      </div>
      {left !== undefined && right !== undefined && (
        <Comparison database={database} id={id} left={left} right={right} labels={labels} onTake={onTake} />
      )}
    </section>
  );
}

/** What the winner is compared with first: a conflict, or else what it replaced. */
function otherThanWinner({ branches, statuses }: RevisionTree): string | undefined {
  const conflict = branches.find(({ isDeleted }, at) => at > 0 && !isDeleted)?.revs[0];
  const former = branches[0]?.revs[1];
  return conflict ?? (former !== undefined && statuses.get(former) !== 'missing' ? former : undefined);
}
