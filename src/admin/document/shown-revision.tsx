import { useEffect, useRef, useState } from 'preact/hooks';

interface ShownRevisionProps {
  /** Undefined if none is stored, or the document is deleted. */
  readonly rev: string | undefined;
  readonly isDeleted: boolean;
}

/**
 * The revision in sight. When a new one takes its place, after a store or because somebody else has written
 * it, it is marked for a moment, and screen readers say it. Nothing else says that storing was successful.
 */
export function ShownRevision({ rev, isDeleted }: ShownRevisionProps) {
  const former = useRef(rev);
  const [isNew, setNew] = useState(false);
  useEffect(() => {
    if (former.current === rev) return;
    former.current = rev;
    setNew(true);
  }, [rev]);
  return (
    <>
      {rev === undefined ? (
        <span class={isDeleted ? 'tag bad' : 'tag warn'}>{isDeleted ? 'deleted' : 'not stored'}</span>
      ) : (
        // The key begins the animation again.
        <code key={rev} class={isNew ? 'muted rev new' : 'muted rev'}>
          {rev}
        </code>
      )}
      <span class="hidden" aria-live="polite">
        {isNew && (rev === undefined ? 'The document is deleted.' : `The revision is ${rev} now.`)}
      </span>
    </>
  );
}
