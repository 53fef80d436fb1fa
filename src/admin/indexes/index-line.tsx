import { useEffect, useRef, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatBytes, formatMany } from '../components/format.ts';
import { type IndexState, useIndexState } from './index-state.ts';
import './indexes.css';

interface IndexLineProps {
  readonly database: string;
  /** Of the design document, without `_design/`. */
  readonly name: string;
  readonly build: () => Promise<void>;
  /** Another number: the state is read again at once. */
  readonly readAt?: number;
  /** Below are rows of the index: says what it means for them that it is behind, and follows how it catches up. */
  readonly isOfRows?: boolean;
  /** Called when the index has caught up with its database. */
  readonly onBuilt?: () => void;
}

/** One line about an index: its size, how far it is behind, and a button that brings it up to date. */
export function IndexLine({ database, name, build, readAt = 0, isOfRows = false, onBuilt }: IndexLineProps) {
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
  useCaughtUp(state?.behind, onBuilt);
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

/** Shown for every build, whether this page, another client or the server itself began it. */
function useCaughtUp(behind: number | undefined, caughtUp: (() => void) | undefined): void {
  const former = useRef(behind);
  useEffect(() => {
    if (behind === 0 && former.current !== undefined && former.current > 0) caughtUp?.();
    former.current = behind;
  }, [behind]);
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
