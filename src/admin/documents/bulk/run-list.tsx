/** Bulk changes of the database: how far they are, what became of each document, and the way back. */
import { useState } from 'preact/hooks';
import { ErrorNote } from '../../components/error-note.tsx';
import { formatCount, formatMany } from '../../components/format.ts';
import { WriteButton } from '../../components/write-button.tsx';
import { reviewUndo } from './review-bulk.ts';
import type { RefusedDocument } from './run.ts';
import { dismiss, goOn, type Run, runs } from './runs.ts';

interface RunListProps {
  readonly database: string;
  readonly onSelect: (ids: readonly string[]) => void;
}

export function RunList({ database, onSelect }: RunListProps) {
  const own = runs.value.filter((run) => run.database === database);
  if (own.length === 0) return null;
  return (
    <section class="bulk-runs" aria-label="Changes of many documents">
      {own.map((run) => (
        <RunCard key={run.number} run={run} onSelect={onSelect} />
      ))}
    </section>
  );
}

function RunCard({ run, onSelect }: { readonly run: Run; readonly onSelect: (ids: readonly string[]) => void }) {
  const { title, state, progress, targets, failure } = run;
  const isRunning = state === 'running';
  return (
    <article class="bulk-run" aria-label={title}>
      <div class="tool-row">
        <p role="status">
          <strong>{title}</strong> {outcomeOf(run)}
        </p>
        <span class="spring" />
        <RunButtons run={run} />
      </div>
      {isRunning && <progress aria-label={title} max={Math.max(1, targets.length)} value={progress.done} />}
      <ErrorNote failure={failure} />
      {progress.refused.length > 0 && (
        <Refused refused={progress.refused} total={progress.refusedCount} onSelect={isRunning ? undefined : onSelect} />
      )}
    </article>
  );
}

function RunButtons({ run }: { readonly run: Run }) {
  const { state, progress, targets, journal, undoneBy, stop } = run;
  if (state === 'running') {
    return (
      <button type="button" onClick={stop}>
        Stop
      </button>
    );
  }
  const left = targets.length - progress.done;
  const canUndo = journal.entries.size;
  return (
    <>
      {left > 0 && (
        <WriteButton onClick={() => goOn(run)}>
          {left === 1 ? 'Go on with the last one' : `Go on with the other ${formatCount(left)}`}
        </WriteButton>
      )}
      {canUndo > 0 && undoneBy === undefined && (
        <WriteButton onClick={() => void reviewUndo(run)}>
          {journal.leftOut === 0 ? 'Undo' : `Undo ${formatCount(canUndo)} of ${formatCount(progress.written)}`}
        </WriteButton>
      )}
      {undoneBy !== undefined && <span class="muted">{undoText(undoneBy)}</span>}
      {journal.leftOut > 0 && (
        <span class="muted">{formatMany(journal.leftOut, 'document')} can’t be undone: the page kept no more.</span>
      )}
      <button type="button" onClick={() => dismiss(run)}>
        Dismiss
      </button>
    </>
  );
}

/** How far the run is that undoes this one. */
function undoText(number: number): string {
  const undo = runs.value.find((one) => one.number === number);
  if (undo === undefined) return 'An undo of it has run.';
  if (undo.state === 'running') return 'It is being undone.';
  const { written, same } = undo.progress;
  const [back, all] = [written + same, undo.targets.length];
  return back === all ? 'It is undone.' : `It is undone in ${formatCount(back)} of ${formatMany(all, 'document')}.`;
}

function outcomeOf({ state, progress, targets }: Run): string {
  const { done, written, same, refusedCount } = progress;
  const parts = [`${formatCount(written)} written`];
  if (same > 0) parts.push(`${formatCount(same)} ${same === 1 ? 'was' : 'were'} so already`);
  if (refusedCount > 0) parts.push(`${formatCount(refusedCount)} refused`);
  const outcome = parts.join(', ');
  if (state === 'done') return `Done: ${outcome}.`;
  const far = `${formatCount(done)} of ${formatCount(targets.length)} done: ${outcome}`;
  if (state === 'running') return `${far} …`;
  return `${state === 'stopped' ? 'Stopped' : 'Broken off'}. ${far}. What is written stays.`;
}

interface RefusedProps {
  readonly refused: readonly RefusedDocument[];
  readonly total: number;
  readonly onSelect: ((ids: readonly string[]) => void) | undefined;
}

const SHOWN = 50;

function Refused({ refused, total, onSelect }: RefusedProps) {
  const [shown, setShown] = useState(SHOWN);
  return (
    <details open>
      <summary>{formatMany(total, 'refused document')}</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard */}
      <ul tabIndex={0} aria-label="Refused documents">
        {refused.slice(0, shown).map(({ id, error, reason }) => (
          <li key={id}>
            <code>{id}</code> <span class="tag bad">{error}</span> <span class="bad-text">{reason}</span>
          </li>
        ))}
      </ul>
      <div class="tool-row">
        {refused.length > shown && (
          <button type="button" onClick={() => setShown(shown + SHOWN * 10)}>
            Show more
          </button>
        )}
        {total > refused.length && <span class="muted">The first {formatCount(refused.length)} are kept by name.</span>}
        {onSelect !== undefined && (
          <button type="button" onClick={() => onSelect(refused.map(({ id }) => id))}>
            Select them
          </button>
        )}
      </div>
    </details>
  );
}
