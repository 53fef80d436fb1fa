/** Where to go in the list, how it looks, and a new document. */
import { useState } from 'preact/hooks';
import { Dialog } from '../components/dialog.tsx';
import { ErrorNote } from '../components/error-note.tsx';
import { Icon } from '../components/icon.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { goTo } from '../page/router.ts';
import type { JsonObject } from '../server/client.ts';
import { documentPage } from '../server/documents.ts';
import { fieldsOf } from './fields.ts';
import { EVERYTHING } from './filter.ts';
import { type Layout, type ListSettings, setFilter, storeColumns } from './list-state.ts';

interface ToolBarProps {
  readonly database: string;
  readonly settings: ListSettings;
  /** The documents in sight, if the layout shows documents. */
  readonly visible: readonly JsonObject[];
  readonly columns: readonly string[];
  readonly onColumns: (columns: readonly string[] | undefined) => void;
  readonly onShow: (index: number) => void;
}

export function ToolBar({ database, settings, visible, columns, onColumns, onShow }: ToolBarProps) {
  const [isChoosing, setChoosing] = useState(false);
  return (
    <>
      <div class="tool-row">
        <GoTo database={database} settings={settings} onShow={onShow} />
        <LayoutChoice settings={settings} />
        {settings.layout.value === 'table' && (
          <button type="button" onClick={() => setChoosing(true)}>
            Columns
          </button>
        )}
        <span class="spring" />
        <WriteButton class="primary" onClick={() => goTo(['db', database, 'document'])}>
          <Icon name="plus" /> New document
        </WriteButton>
      </div>
      {isChoosing && (
        <ColumnDialog
          fields={[...new Set([...columns, ...fieldsOf(visible)])]}
          columns={columns}
          onClose={() => setChoosing(false)}
          onChoose={(next) => {
            storeColumns(database, next);
            onColumns(next);
          }}
        />
      )}
    </>
  );
}

interface GoToProps {
  readonly database: string;
  readonly settings: ListSettings;
  readonly onShow: (index: number) => void;
}

/** Goes to an id, or to where it would be. */
function GoTo({ database, settings, onShow }: GoToProps) {
  const [text, setText] = useState('');
  const [note, setNote] = useState<string | undefined>(undefined);
  const [failure, setFailure] = useState<unknown>(undefined);
  const jump = async (event: Event) => {
    event.preventDefault();
    setFailure(undefined);
    setNote(undefined);
    try {
      const found = await placeOf(database, text);
      if (settings.filter.value.kind !== 'all') setFilter(settings, EVERYTHING);
      if (found === undefined) setFilter(settings, { kind: 'prefix', prefix: text });
      else onShow(found.index);
      setNote(found?.note);
    } catch (error) {
      setFailure(error);
    }
  };
  return (
    <div class="go-to">
      <form class="search" onSubmit={(event) => void jump(event)}>
        <Icon name="search" />
        <input
          id="go-to-id"
          type="search"
          placeholder="Go to an id, or its beginning"
          aria-label="Go to an id, or its beginning"
          enterkeyhint="go"
          spellcheck={false}
          autocapitalize="none"
          autocomplete="off"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </form>
      {note !== undefined && (
        <span class="muted" role="status">
          {note}
        </span>
      )}
      <ErrorNote failure={failure} />
    </div>
  );
}

/** Undefined if the server does not say how many documents come before an id. */
async function placeOf(
  database: string,
  text: string,
): Promise<{ readonly index: number; readonly note?: string } | undefined> {
  const { offset, rows, total } = await documentPage(database, { limit: 1, startkey: text });
  const [row] = rows;
  if (row === undefined) {
    return { index: Math.max(0, total - 1), note: `No id begins with “${text}”: this is the end of the list.` };
  }
  if (offset === undefined) return undefined;
  // Some servers say something, but not that.
  const { rows: there } = await documentPage(database, { limit: 1, skip: offset });
  if (there[0]?.id !== row.id) return undefined;
  return row.id.startsWith(text)
    ? { index: offset }
    : { index: offset, note: `No id begins with “${text}”: the first row is the next one.` };
}

const LAYOUTS: readonly (readonly [Layout, string])[] = [
  ['ids', 'Ids'],
  ['table', 'Table'],
  ['json', 'JSON'],
];

function LayoutChoice({ settings }: { readonly settings: ListSettings }) {
  return (
    <fieldset class="segments">
      <legend class="hidden">Layout</legend>
      {LAYOUTS.map(([layout, label]) => (
        <label key={layout}>
          <input
            type="radio"
            name="layout"
            checked={settings.layout.value === layout}
            onChange={() => {
              settings.layout.value = layout;
            }}
          />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}

interface ColumnDialogProps {
  readonly fields: readonly string[];
  readonly columns: readonly string[];
  readonly onClose: () => void;
  /** Undefined: the usual ones. */
  readonly onChoose: (columns: readonly string[] | undefined) => void;
}

/** Which fields the table has. */
function ColumnDialog({ fields, columns, onClose, onChoose }: ColumnDialogProps) {
  const [other, setOther] = useState('');
  const [offered] = useState(fields);
  const all = [...new Set([...offered, ...columns])];
  const add = (event: Event) => {
    event.preventDefault();
    if (other.trim() !== '') onChoose([...new Set([...columns, other.trim()])]);
    setOther('');
  };
  return (
    <Dialog
      title="Columns of the table"
      onClose={onClose}
      actions={
        <>
          <button type="button" onClick={() => onChoose(undefined)}>
            The usual ones
          </button>
          <button type="button" class="primary" onClick={onClose}>
            Done
          </button>
        </>
      }
    >
      <p class="muted">Fields of the documents in sight. What you choose is kept in this browser.</p>
      <fieldset class="column-choice">
        <legend class="hidden">Columns</legend>
        {all.map((path) => (
          <label key={path} class="switch">
            <input
              type="checkbox"
              checked={columns.includes(path)}
              onChange={({ currentTarget }) =>
                onChoose(currentTarget.checked ? [...columns, path] : columns.filter((one) => one !== path))
              }
            />
            {path}
          </label>
        ))}
      </fieldset>
      <form class="tool-row" onSubmit={add}>
        <input
          aria-label="Another field"
          placeholder="Another field: address.city"
          autocapitalize="none"
          spellcheck={false}
          value={other}
          onInput={(event) => setOther(event.currentTarget.value)}
        />
        <button type="submit">Add</button>
      </form>
    </Dialog>
  );
}
