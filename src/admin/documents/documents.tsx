/** All documents of a database, as a list that may have millions of rows. */
import { useCallback, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { formatCount } from '../components/format.ts';
import { Icon } from '../components/icon.tsx';
import { VirtualList } from '../components/virtual-list.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { goTo, hrefOf } from '../page/router.ts';
import type { DatabaseScreenProps } from '../page/screen-props.ts';
import { documentPage } from '../server/documents.ts';
import { usePages } from './pages.ts';

const ROW_HEIGHT = 32;
/** Sorts after every id that begins with the text before it. */
const AFTER_ALL = '\ufff0';

export function Documents({ database }: DatabaseScreenProps) {
  const [prefix, setPrefix] = useState('');
  const [place, setPlace] = useState<{ readonly index: number } | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const { total, rowAt, need, failure: pageFailure, reload } = usePages(database, false);
  const onRange = useCallback((from: number, to: number) => need(from, to), [need]);
  const jump = async (event: Event) => {
    event.preventDefault();
    setFailure(undefined);
    try {
      const range = { limit: 1, startkey: prefix, endkey: `${prefix}${AFTER_ALL}` };
      const { offset } = await documentPage(database, range);
      setPlace({ index: offset });
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <section class="fill">
      <div class="tool-row">
        <form class="search" onSubmit={(event) => void jump(event)}>
          <Icon name="search" />
          <input
            type="search"
            placeholder="Go to an id, or its beginning"
            aria-label="Go to an id, or its beginning"
            spellcheck={false}
            autocapitalize="none"
            value={prefix}
            onInput={(event) => setPrefix(event.currentTarget.value)}
          />
        </form>
        {total !== undefined && <span class="muted">{formatCount(total)} documents</span>}
        <span class="spring" />
        <WriteButton class="primary" onClick={() => goTo(['db', database, 'document'])}>
          <Icon name="plus" /> New document
        </WriteButton>
      </div>
      <ErrorNote failure={failure ?? pageFailure} retry={reload} />
      {total === 0 && <p class="empty">This database has no documents yet.</p>}
      {total !== undefined && total > 0 && (
        <VirtualList
          count={total}
          rowHeight={ROW_HEIGHT}
          label={`Documents of ${database}`}
          goTo={place}
          onRange={onRange}
          row={(index) => <Row database={database} row={rowAt(index)} />}
        />
      )}
    </section>
  );
}

function Row({
  database,
  row,
}: {
  readonly database: string;
  readonly row: { readonly id: string; readonly rev: string } | undefined;
}) {
  if (row === undefined) return <span class="muted">…</span>;
  return (
    <div class="document-row">
      <a href={hrefOf(['db', database, 'document', row.id])}>{row.id}</a>
      <code class="muted">{row.rev}</code>
    </div>
  );
}
