/** What a row of the list shows: an id, chosen fields, or the document. */
import { hrefOf } from '../page/router.ts';
import type { Json, JsonObject } from '../server/client.ts';
import { stagedEdits } from '../staging/staged.ts';
import { fieldAt } from './fields.ts';
import type { Layout, ListSettings } from './list-state.ts';
import type { SourceRow } from './row-sources/row-source.ts';
import { isEmpty } from './selection.ts';
import type { Selecting } from './use-selection.ts';

export interface ColumnSet {
  readonly layout: Layout;
  /** Paths of fields, for the table. */
  readonly columns: readonly string[];
}

/** The grid has the focus for all of its rows and cells. They are no table: rows are placed one by one. */
const HEADER_ROW = { role: 'row', 'aria-rowindex': 1 } as const;
const CELL = { role: 'gridcell' } as const;
const COLUMN_HEADER = { role: 'columnheader' } as const;

/** Characters of a value in its cell. */
const MAX_CHARACTERS = 160;
/** Lines of a document in its row. */
const JSON_LINES = 8;
const JSON_CHARACTERS = 4_000;

interface HeaderCellsProps {
  readonly set: ColumnSet;
  readonly settings: ListSettings;
  readonly selecting: Selecting;
}

export function HeaderCells({ set, settings, selecting }: HeaderCellsProps) {
  const { isInverse, ids } = settings.selection.value;
  const isAll = isInverse && ids.size === 0;
  const titles = set.layout === 'table' ? set.columns : set.layout === 'ids' ? ['Revision'] : [];
  return (
    <div {...HEADER_ROW} class={`row-cells as-${set.layout}`} style={templateOf(set)}>
      <span {...COLUMN_HEADER} class="row-check">
        <label>
          <input
            type="checkbox"
            aria-label="Select all that match"
            checked={isAll}
            indeterminate={!isAll && !isEmpty(settings.selection.value)}
            onChange={() => (isAll ? selecting.selectNone() : selecting.selectAll())}
          />
        </label>
      </span>
      {[set.layout === 'json' ? 'Document' : 'Id', ...titles].map((title) => (
        <span {...COLUMN_HEADER} key={title} title={title}>
          {title}
        </span>
      ))}
    </div>
  );
}

interface RowCellsProps {
  readonly database: string;
  readonly set: ColumnSet;
  /** Undefined while it is loaded. */
  readonly row: SourceRow | undefined;
  readonly isSelected: boolean;
  /** It stands for those that are not loaded yet. */
  readonly isEnd: boolean;
}

export function RowCells({ database, set, row, isSelected, isEnd }: RowCellsProps) {
  return (
    <div class={`row-cells as-${set.layout}`} role="presentation" style={templateOf(set)}>
      <span {...CELL} class="row-check">
        {row !== undefined && <RowCheck id={row.id} isSelected={isSelected} />}
      </span>
      {row === undefined ? (
        <span {...CELL} class="muted">
          {isEnd ? 'More …' : '…'}
        </span>
      ) : (
        <LoadedCells database={database} set={set} row={row} />
      )}
    </div>
  );
}

/** The row does what a click on it means; keys are the list's. */
function RowCheck({ id, isSelected }: { readonly id: string; readonly isSelected: boolean }) {
  return (
    <input
      type="checkbox"
      tabIndex={-1}
      aria-label={`Select ${id}`}
      checked={isSelected}
      onClick={({ currentTarget }) => {
        // A range with Shift selects the row, whatever the click made of the box.
        setTimeout(() => {
          currentTarget.checked = currentTarget.closest('[role=row]')?.getAttribute('aria-selected') === 'true';
        });
      }}
    />
  );
}

function LoadedCells({
  database,
  set,
  row,
}: {
  readonly database: string;
  readonly set: ColumnSet;
  readonly row: SourceRow;
}) {
  const { id, rev, doc, isInConflict } = row;
  if (set.layout === 'json') {
    return (
      <div {...CELL} class="row-json">
        <RowLink database={database} id={id} isInConflict={isInConflict} />
        {doc === undefined ? <span class="muted">…</span> : <pre>{beginningOf(doc)}</pre>}
      </div>
    );
  }
  return (
    <>
      <span {...CELL} class="row-id">
        <RowLink database={database} id={id} isInConflict={isInConflict} />
      </span>
      {set.layout === 'ids' ? (
        <code {...CELL} class="muted">
          {rev}
        </code>
      ) : (
        set.columns.map((path) => <Cell key={path} value={doc && fieldAt(doc, path)} isLoaded={doc !== undefined} />)
      )}
    </>
  );
}

interface RowLinkProps {
  readonly database: string;
  readonly id: string;
  readonly isInConflict: boolean | undefined;
}

function RowLink({ database, id, isInConflict }: RowLinkProps) {
  const edit = stagedEdits.value.find((one) => one.id === id && one.database === database);
  return (
    <>
      <a href={hrefOf(['db', database, 'document', id])} tabIndex={-1} title={id}>
        {id}
      </a>{' '}
      {edit !== undefined && (
        <span class={edit.after === undefined ? 'tag bad' : 'tag warn'}>
          {edit.after === undefined ? 'to be deleted' : 'edited'}
        </span>
      )}{' '}
      {isInConflict === true && <span class="tag bad">in conflict</span>}
    </>
  );
}

function Cell({ value, isLoaded }: { readonly value: Json | undefined; readonly isLoaded: boolean }) {
  if (value === undefined) {
    return (
      <span {...CELL} class="muted">
        {isLoaded ? '–' : '…'}
      </span>
    );
  }
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const shown = text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text;
  return (
    <span {...CELL} title={text.slice(0, 1_000)}>
      {shown}
    </span>
  );
}

const beginnings = new WeakMap<JsonObject, string>();

/** The first lines of the document. */
function beginningOf(doc: JsonObject): string {
  const known = beginnings.get(doc);
  if (known !== undefined) return known;
  const { _id, _rev, ...members } = doc;
  const text = JSON.stringify(members, null, 2);
  const lines = text.slice(0, JSON_CHARACTERS).split('\n');
  const isCut = lines.length > JSON_LINES || text.length > JSON_CHARACTERS;
  const beginning = isCut ? `${lines.slice(0, JSON_LINES - 1).join('\n')}\n…` : text;
  beginnings.set(doc, beginning);
  return beginning;
}

/** The other layouts have the columns of their class. */
function templateOf({ layout, columns }: ColumnSet): { readonly gridTemplateColumns?: string } {
  if (layout !== 'table') return {};
  const fields = columns.length === 0 ? '' : ` repeat(${columns.length}, minmax(140px, 1fr))`;
  return { gridTemplateColumns: `44px minmax(200px, 1.4fr)${fields}` };
}
