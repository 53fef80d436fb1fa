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
  /** Called when the index has caught up with its database. */
  readonly onBuilt?: () => void;
}

/** One line about an index: its size, how far it is behind, and a button that brings it up to date. */
export function IndexLine({ database, name, build, onBuilt }: IndexLineProps) {
  const [isBuilding, setBuilding] = useState(false);
  const { state, failure, reload } = useIndexState(database, name, isBuilding);
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
  return (
    <div class="index-line">
      {state !== undefined && (
        <p role="status">
          <StateText state={state} isBuilding={isBuilding} />
        </p>
      )}
      {state?.progress !== undefined && (
        <progress max={100} value={state.progress} aria-label={`Build of _design/${name}`} />
      )}
      {state !== undefined && state.behind !== 0 && (
        <button type="button" disabled={isBuilding} onClick={() => void begin()}>
          {isBuilding ? 'Building …' : 'Build now'}
        </button>
      )}
      <ErrorNote failure={buildFailure ?? failure} retry={buildFailure === undefined ? reload : () => void begin()} />
    </div>
  );
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
