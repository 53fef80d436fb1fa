import { useEffect, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { hrefOf } from '../page/router.ts';
import { ChangedText } from '../review/review.tsx';
import { type Difference, differenceOf } from './difference.ts';
import { type ChangeEvent, seqText } from './follow.ts';

interface ChangeRowProps {
  readonly database: string;
  readonly event: ChangeEvent;
}

/** A change; what it changed is loaded once somebody asks. */
export function ChangeRow({ database, event }: ChangeRowProps) {
  const { id, rev, seq, isDeleted, others } = event;
  const [isOpen, setOpen] = useState(false);
  return (
    <li class="change">
      <div class="change-head">
        <a href={hrefOf(['db', database, 'document', id])}>{id}</a>
        {isDeleted && <span class="tag bad">deleted</span>}
        {rev.startsWith('1-') && <span class="tag good">new</span>}
        {others > 0 && <span class="tag warn">{others} more revisions</span>}
        <code class="muted change-rev">{rev}</code>
        <small class="muted">{seqText(seq).split('-', 1)[0]}</small>
      </div>
      <details open={isOpen} onToggle={(happened) => setOpen(happened.currentTarget.open)}>
        <summary>What changed</summary>
        {isOpen && <WhatChanged database={database} event={event} />}
      </details>
    </li>
  );
}

function WhatChanged({ database, event: { id, rev } }: ChangeRowProps) {
  const [difference, setDifference] = useState<Difference | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  useEffect(() => {
    const controller = new AbortController();
    differenceOf(database, id, rev, controller.signal).then(setDifference, (error: unknown) => {
      if (!controller.signal.aborted) setFailure(error);
    });
    return () => controller.abort();
  }, [database, id, rev]);
  if (difference === undefined) return <ErrorNote failure={failure} />;
  const { before, after, summary } = difference;
  return (
    <>
      <p>{summary}</p>
      {after !== '' && <ChangedText change={{ name: rev, before: before ?? '', after }} />}
    </>
  );
}
