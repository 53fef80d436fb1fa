import { useEffect, useState } from 'preact/hooks';
import { formatMany } from '../components/format.ts';
import { EVERYWHERE_TITLE, type KeyHelp, useKeyHelp } from '../components/key-help.ts';
import { WriteButton } from '../components/write-button.tsx';
import { hrefOf } from '../page/router.ts';
import { review } from '../review/review.tsx';
import { whyNoWrites } from '../server/session.ts';
import { bulkRequests, changeOf, type StagedEdit, stagedEdits, storeEdits, unstage, unstageAll } from './staged.ts';

const KEYS: readonly KeyHelp[] = [{ keys: 'Ctrl+S', does: 'review what is edited, and store it' }];

/** At the lower edge of the page while there are edits that are not stored yet. Ctrl+S or ⌘S opens the review. */
export function StagingBar() {
  const edits = stagedEdits.value;
  const why = whyNotStored(edits);
  const [isOpen, setOpen] = useState(false);
  useKeyHelp(EVERYWHERE_TITLE, KEYS);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== 's' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      // Another review that is open stays.
      if (edits.length === 0 || document.querySelector('dialog[open]') !== null) return;
      if (why === undefined && whyNoWrites.value === undefined) openReview();
      else setOpen(true);
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [edits, why]);
  useEffect(() => {
    if (edits.length === 0) return undefined;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', warn);
    return () => removeEventListener('beforeunload', warn);
  }, [edits.length > 0]);
  if (edits.length === 0) return null;
  return (
    <aside class="staging-bar" aria-label="Edits that are not stored yet">
      <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{formatMany(edits.length, 'document')} edited, not stored yet</summary>
        {isOpen && (why ?? whyNoWrites.value) !== undefined && (
          <p class="field-error" role="alert">
            They can’t be stored now. {why ?? whyNoWrites.value}
          </p>
        )}
        <ul>
          {edits.map((edit) => (
            <li key={`${edit.database} ${edit.id}`}>
              <a href={hrefOf(['db', edit.database, 'document', edit.id])}>{edit.id}</a>
              {edit.before === undefined && <span class="tag good">new</span>}
              {edit.after === undefined && <span class="tag bad">to be deleted</span>}
              {edit.problem !== undefined && <span class="bad-text">{edit.problem}</span>}
              {edit.refusal !== undefined && <span class="bad-text">{edit.refusal.reason}</span>}
              <button
                type="button"
                class="quiet"
                aria-label={`Undo the edit of ${edit.id}`}
                onClick={() => unstage(edit)}
              >
                Undo
              </button>
            </li>
          ))}
        </ul>
      </details>
      <button type="button" onClick={unstageAll}>
        Undo all
      </button>
      <WriteButton class="primary" why={why} onClick={openReview}>
        Review and store
      </WriteButton>
    </aside>
  );
}

function whyNotStored(edits: readonly StagedEdit[]): string | undefined {
  const wrong = edits.find(({ problem }) => problem !== undefined);
  return wrong === undefined ? undefined : `${wrong.id}: ${wrong.problem}`;
}

/** Opens the review of all edits. */
export function openReview(): void {
  const edits = stagedEdits.value;
  review({
    title: `Store ${formatMany(edits.length, 'document')}`,
    effects: [
      'Each document gets a new revision, which replicates to peers. A document that somebody else has changed in the meantime is refused and stays in your list.',
    ],
    changes: edits.map(changeOf),
    requests: bulkRequests(edits).map(({ request }) => request),
    action: 'Store',
    apply: async () => {
      // What is stored is read again, also if a request failed.
      const refused = await storeEdits(edits).finally(() => stored.dispatchEvent(new Event('stored')));
      if (refused.length > 0) throw new Error(describeRefused(refused));
    },
  });
}

/** Tells screens that documents were stored: the event `stored`. */
export const stored = new EventTarget();

function describeRefused(refused: readonly { readonly id: string; readonly reason: string }[]): string {
  const list = refused.map(({ id, reason }) => `${id}: ${reason}`).join(' ');
  return `Not stored: ${list} Close this: your edits are kept, and each document shows the ways out.`;
}
