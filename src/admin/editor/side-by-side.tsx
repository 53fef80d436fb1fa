import { useEffect, useRef, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import type { ComparedText } from './comparison.ts';

interface SideBySideProps {
  readonly before: ComparedText;
  readonly after: ComparedText;
}

/** Where two columns have no room. */
const NARROW = matchMedia('(max-width: 760px)');

/** Two texts, with what differs marked. What it needs is loaded when the first one is seen. */
export function SideBySide({ before, after }: SideBySideProps) {
  const element = useRef<HTMLDivElement>(null);
  const [failure, setFailure] = useState<unknown>(undefined);
  const [isWhole, setWhole] = useState(false);
  const [isNarrow, setNarrow] = useState(NARROW.matches);
  useEffect(() => {
    const measure = () => setNarrow(NARROW.matches);
    NARROW.addEventListener('change', measure);
    return () => NARROW.removeEventListener('change', measure);
  }, []);
  useEffect(() => {
    let close: (() => void) | undefined;
    let isWanted = true;
    import('./comparison.ts').then(({ showComparison }) => {
      if (isWanted && element.current !== null)
        close = showComparison(element.current, before, after, { isNarrow, isWhole });
    }, setFailure);
    return () => {
      isWanted = false;
      close?.();
    };
  }, [before.label, before.text, after.label, after.text, isNarrow, isWhole]);
  return (
    <>
      <ErrorNote failure={failure} />
      <label class="switch">
        <input type="checkbox" checked={isWhole} onChange={() => setWhole(!isWhole)} />
        Lines that are the same, too
      </label>
      <div class="editor comparison" ref={element} />
    </>
  );
}
