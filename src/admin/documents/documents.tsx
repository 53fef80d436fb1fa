/** All documents of a database, as a list that may have millions of rows. */
import { useCallback, useEffect, useState } from 'preact/hooks';
import { ErrorNote } from '../components/error-note.tsx';
import { type KeyHelp, useKeyHelp, useSingleKey } from '../components/key-help.ts';
import { hrefOf } from '../page/router.ts';
import type { DatabaseScreenProps } from '../page/screen-props.ts';
import type { JsonObject } from '../server/client.ts';
import { stored } from '../staging/staging-bar.tsx';
import { BulkBar } from './bulk/bulk-bar.tsx';
import { reviewBulk } from './bulk/review-bulk.ts';
import { RunList } from './bulk/run-list.tsx';
import { TaskStatus } from './bulk/task-status.tsx';
import { CountBar } from './count-bar.tsx';
import { DocumentList } from './document-list.tsx';
import { fieldsOf, usualColumns } from './fields.ts';
import { LIST_KEYS } from './list-keys.ts';
import { type ListSettings, listSettings, storedColumns } from './list-state.ts';
import { Pager } from './pager.tsx';
import type { FilterKind } from './row-sources/filter.ts';
import { isEmpty } from './selection.ts';
import { ToolBar } from './tool-bar.tsx';
import { type List, useList } from './use-list.ts';
import { useSelection } from './use-selection.ts';
import './documents.css';

const SCREEN_KEYS: readonly KeyHelp[] = [{ keys: '/', does: 'go to an id' }];

export function Documents({ database }: DatabaseScreenProps) {
  const settings = listSettings(database);
  const [filter, layout] = [settings.filter.value, settings.layout.value];
  // The search for conflicts reads whole documents in any case: with them, another layout needs no second search.
  const list = useList(database, filter, layout !== 'ids' || filter.kind === 'conflicts');
  const [jump, setJump] = useState<{ readonly index: number } | undefined>(undefined);
  const [seen, setSeen] = useState({ from: 0, to: 0 });
  const onRange = useCallback((from: number, to: number) => setSeen({ from, to }), []);
  const selecting = useSelection(settings, list);
  const visible = visibleDocs(list, seen);
  const columns = useColumns(database, settings, visible);
  useKeyHelp('The list of documents', LIST_KEYS);
  useKeyHelp('This screen', SCREEN_KEYS);
  useSingleKey('/', () => document.getElementById('go-to-id')?.focus());
  useReloadAfterWrites(list);
  const show = (index: number) => {
    selecting.moveTo(index, false);
    settings.top.value = index;
    setJump({ index });
  };
  const remove = () => {
    if (filter.kind !== 'deleted') void reviewBulk({ database, list, settings, change: { kind: 'delete' } });
  };
  return (
    <section class="fill documents-screen">
      <ToolBar
        database={database}
        settings={settings}
        visible={visible}
        columns={columns.columns}
        onColumns={columns.choose}
        onShow={show}
      />
      <RunList database={database} onSelect={(ids) => selectIds(settings, ids)} />
      <div class="tool-row list-head">
        <CountBar
          key={JSON.stringify(filter)}
          filter={filter}
          list={list}
          counted={settings.counted.value}
          onCounted={(count) => {
            settings.counted.value = count;
          }}
        />
        {selecting.isReading && <span class="muted">Reading the range …</span>}
        <span class="spring" />
        <Pager list={list} seen={seen} onShow={show} />
      </div>
      <ErrorNote failure={list.failure ?? selecting.failure} retry={list.reload} />
      {isEmptyList(list) && <Empty database={database} settings={settings} />}
      {list.count > 0 && (
        <DocumentList
          key={layout}
          database={database}
          settings={settings}
          list={list}
          selecting={selecting}
          columns={columns.columns}
          goTo={jump}
          onRange={onRange}
          onDelete={remove}
        />
      )}
      {!isEmpty(settings.selection.value) && (
        <BulkBar database={database} settings={settings} list={list} selecting={selecting} />
      )}
      <TaskStatus database={database} />
    </section>
  );
}

function Empty({ database, settings }: { readonly database: string; readonly settings: ListSettings }) {
  const { kind } = settings.filter.value;
  if (kind === 'all')
    return (
      <p class="empty">
        <span>
          This database has no documents yet. You can also{' '}
          <a href={hrefOf(['db', database, 'storage'])}>import a file</a>.
        </span>
      </p>
    );
  return <p class="empty">{WHY_EMPTY[kind] ?? 'No document matches.'}</p>;
}

const WHY_EMPTY: Readonly<Partial<Record<FilterKind, string>>> = {
  deleted: 'No document was deleted.',
  conflicts: 'No document is in conflict.',
};

function isEmptyList({ isLoaded, count, failure, search }: List): boolean {
  return isLoaded && count === 0 && failure === undefined && search === undefined;
}

function useReloadAfterWrites({ reload }: List): void {
  useEffect(() => {
    stored.addEventListener('stored', reload);
    return () => stored.removeEventListener('stored', reload);
  }, [reload]);
}

function visibleDocs({ rowAt }: List, { from, to }: { readonly from: number; readonly to: number }) {
  return Array.from({ length: to - from }, (_, at) => rowAt(from + at)?.doc).filter((doc) => doc !== undefined);
}

/** The columns that the user chose. Until then, the fields of the first documents that were in sight: a change of documents does not change them. */
function useColumns(database: string, { usualColumns: usual }: ListSettings, visible: readonly JsonObject[]) {
  const [chosen, setChosen] = useState(() => storedColumns(database));
  // `peek`: a change of the signal renders nothing.
  if (usual.peek().length === 0 && visible.length > 0) usual.value = usualColumns(fieldsOf(visible));
  const choose = (columns: readonly string[] | undefined) => {
    if (columns === undefined) usual.value = [];
    setChosen(columns);
  };
  return { columns: chosen ?? usual.peek(), choose };
}

function selectIds({ selection, place }: ListSettings, ids: readonly string[]): void {
  selection.value = { isInverse: false, ids: new Set(ids) };
  place.value = { ...place.value, base: selection.value };
}
