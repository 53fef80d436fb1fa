import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { hrefOf } from '../page/router.ts';
import { ChangedText } from '../review/review.tsx';
import { type Difference, differenceOf } from './difference.ts';
import { type ChangeEvent, seqText } from './follow.ts';

interface ChangeRowProps {
  readonly database: string;
  readonly event: ChangeEvent;
  /** Loads what it changed by itself: there are few such rows. */
  readonly isEager: boolean;
}

/** A change: in a line what it changed, and the difference of the texts once somebody asks. */
export function ChangeRow({ database, event, isEager }: ChangeRowProps) {
  const { id, rev, seq, isDeleted, others } = event;
  const [isOpen, setOpen] = useState(false);
  const { difference, failure } = useDifference(database, event, isEager || isOpen);
  return (
    <li class="change">
      <div class="change-head">
        <a href={hrefOf(['db', database, 'document', id])}>{id}</a> {isDeleted && <span class="tag bad">deleted</span>}
        {rev.startsWith('1-') && <span class="tag good">new</span>}
        {others > 0 && <span class="tag warn">{others} more revisions</span>}{' '}
        <code class="muted change-rev">{rev}</code> <small class="muted">{seqText(seq).split('-', 1)[0]}</small>
      </div>
      <details open={isOpen} onToggle={(happened) => setOpen(happened.currentTarget.open)}>
        <summary>{difference?.summary ?? 'What changed'}</summary>
        {isOpen && difference !== undefined && difference.after !== '' && (
          <ChangedText change={{ name: rev, before: difference.before ?? '', after: difference.after }} />
        )}
      </details>
      <ErrorNote failure={failure} />
    </li>
  );
}

/** Once it is wanted, it is kept. */
function useDifference(database: string, { id, rev }: ChangeEvent, isWanted: boolean) {
  const [difference, setDifference] = useState<Difference | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  useEffect(() => {
    if (!isWanted || difference !== undefined) return undefined;
    const controller = new AbortController();
    setFailure(undefined);
    differenceOf(database, id, rev, controller.signal).then(setDifference, (error: unknown) => {
      if (!controller.signal.aborted) setFailure(error);
    });
    return () => controller.abort();
  }, [database, id, rev, isWanted]);
  return { difference, failure };
}
