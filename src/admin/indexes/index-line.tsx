import { useEffect, useRef, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatBytes, formatMany } from '../components/format.ts';
import type { Json } from '../server/client.ts';
import { changesBetween } from '../server/databases.ts';
import { type IndexState, useIndexState } from './index-state.ts';
import './indexes.css';

interface IndexLineProps {
  readonly database: string;
  /** Of the design document, without `_design/`. */
  readonly name: string;
  readonly build: () => Promise<void>;
  /** Another number: the state is read again at once. */
  readonly readAt?: number;
  /** Rows of the index, which are below: says what it means for them that it is behind, and follows how it catches up. */
  readonly rows?: RowsBelow;
}

interface RowsBelow {
  /** The sequence of the database up to which they reflect it; undefined if they are not there yet, or the server does not say. */
  readonly updateSeq: Json | undefined;
  /** Called when the index has caught up with its database, and has more than they show. */
  readonly reload: () => void;
}

/** One line about an index: its size, how far it is behind, and a button that brings it up to date. */
export function IndexLine({ database, name, build, readAt = 0, rows }: IndexLineProps) {
  const isOfRows = rows !== undefined;
  const [isBuilding, setBuilding] = useState(false);
  const { state, failure, reload } = useIndexState(database, name, { isBuilding, readAt, isFollowed: isOfRows });
  const [buildFailure, setBuildFailure] = useState<unknown>(undefined);
  const begin = async () => {
    setBuilding(true);
    setBuildFailure(undefined);
    try {
      await build();
    } catch (error) {
      setBuildFailure(error);
    } finally {
      setBuilding(false);
      reload();
    }
  };
  useCaughtUp(state, rows);
  const isBehind = state !== undefined && state.behind !== 0;
  return (
    <div class={isOfRows && isBehind ? 'index-line note' : 'index-line'}>
      {state !== undefined && (
        <p role="status">
          <StateText state={state} isBuilding={isBuilding} />
        </p>
      )}
      {state?.progress !== undefined && (
        <progress max={100} value={state.progress} aria-label={`Build of _design/${name}`} />
      )}
      {isBehind && (
        <button
          type="button"
          class={isOfRows ? 'primary' : undefined}
          disabled={isBuilding}
          onClick={() => void begin()}
        >
          {isBuilding ? 'Building …' : 'Build now'}
        </button>
      )}
      {isOfRows && isBehind && <p class="index-meaning">{meaningOf(isBuilding || state.isUpdating)}</p>}
      <ErrorNote failure={buildFailure ?? failure} retry={buildFailure === undefined ? reload : () => void begin()} />
    </div>
  );
}

function meaningOf(isBuilt: boolean): string {
  if (isBuilt) return 'The rows below are those that it has now. They are read again when it is up to date.';
  return 'The rows below are those that it has now: others are missing, or old. The server may build it by itself, but need not. The next query of an app builds it, and waits for that; you can build it here and now.';
}

/**
 * Reads the rows again after every build, whether this page, another client or the server itself began it: also one that ended after the rows
 * were read and before the page knew how far the index is.
 */
function useCaughtUp(state: IndexState | undefined, rows: RowsBelow | undefined): void {
  const former = useRef(state?.behind);
  // Once for each state of the index: servers of a cluster may not agree on how far it is.
  const reloadedAt = useRef<Json | undefined>(undefined);
  useEffect(() => {
    const hasCaughtUp = former.current !== undefined && former.current > 0;
    former.current = state?.behind;
    if (state?.behind !== 0 || rows === undefined) return;
    const isNewer =
      (changesBetween(rows.updateSeq, state.updateSeq) ?? 0) > 0 && reloadedAt.current !== state.updateSeq;
    if (!hasCaughtUp && !isNewer) return;
    reloadedAt.current = state.updateSeq;
    rows.reload();
  }, [state?.behind, state?.updateSeq, rows?.updateSeq]);
}

function StateText({ state, isBuilding }: { readonly state: IndexState; readonly isBuilding: boolean }) {
  const { behind, isUpdating, progress, fileBytes, dataBytes, leftOut } = state;
  if (state.isUnknown)
    return <span class="muted">This server does not say how large its indexes are, nor how far behind.</span>;
  const size = fileBytes === undefined ? '' : `, ${formatBytes(fileBytes)}`;
  const data = dataBytes === undefined ? undefined : `${formatBytes(dataBytes)} of it are data`;
  return (
    <>
      <span class={behind === 0 || behind === undefined ? 'tag good' : 'tag warn'}>{behindText(behind)}</span>
      <span class="muted" title={data}>
        Index{size}
        {(isUpdating || isBuilding) && `, is being built${progress === undefined ? '' : ` (${Math.round(progress)}%)`}`}
      </span>
      {leftOut > 0 && (
        <span class="tag bad">{formatMany(leftOut, 'document')} left out: the map ran out of memory or space</span>
      )}
    </>
  );
}

function behindText(behind: number | undefined): string {
  if (behind === undefined) return 'the server does not say how far it is behind';
  return behind === 0 ? 'up to date' : `${formatMany(behind, 'change')} behind`;
}
