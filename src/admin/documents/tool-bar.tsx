/** Where to go in the list, what it has and how it looks, and a new document. */
import { useState } from 'preact/hooks';
import { Dialog } from '../components/dialog.tsx';
import { Icon } from '../components/icon.tsx';
import { WriteButton } from '../components/write-button.tsx';
import { goTo } from '../page/router.ts';
import type { JsonObject } from '../server/client.ts';
import { fieldsOf } from './fields.ts';
import { FilterBar } from './filter-bar.tsx';
import { GoTo } from './go-to.tsx';
import { type Layout, type ListSettings, storeColumns } from './list-state.ts';
import { PAGE, PAGE_WITH_DOCS } from './use-list.ts';

interface ToolBarProps {
  readonly database: string;
  readonly settings: ListSettings;
  /** The documents in sight, if the layout shows documents. */
  readonly visible: readonly JsonObject[];
  readonly columns: readonly string[];
  readonly onColumns: (columns: readonly string[] | undefined) => void;
  readonly onShow: (index: number) => void;
}

export function ToolBar(props: ToolBarProps) {
  const { database, settings, onShow } = props;
  const [isOpen, setOpen] = useState(false);
  const isFiltered = settings.filter.value.kind !== 'all';
  return (
    <>
      <div class="tool-row list-tools">
        <GoTo database={database} settings={settings} onShow={onShow} />
        <button
          type="button"
          class="options-button"
          aria-label={isFiltered ? 'Filter and layout: not all are shown' : 'Filter and layout'}
          aria-expanded={isOpen}
          aria-controls="list-options"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="query" />
          {isFiltered && <span class="dot busy" />}
        </button>
        <span class="spring" />
        <WriteButton
          class="primary new-document"
          label="New document"
          onClick={() => goTo(['db', database, 'document'])}
        >
          <Icon name="plus" /> <span>New document</span>
        </WriteButton>
      </div>
      <Options {...props} isOpen={isOpen} />
    </>
  );
}

/** What is listed, and how. On a telephone it is there when it was asked for. */
function Options(props: ToolBarProps & { readonly isOpen: boolean }) {
  const { database, settings, visible, columns, onColumns, isOpen } = props;
  const [isChoosing, setChoosing] = useState(false);
  return (
    <div id="list-options" class={isOpen ? 'tool-row list-options open' : 'tool-row list-options'}>
      <FilterBar settings={settings} />
      <LayoutChoice settings={settings} />
      {settings.layout.value === 'table' && (
        <button type="button" onClick={() => setChoosing(true)}>
          Columns
        </button>
      )}
      <span class="muted">{whatIsLoaded(settings)}</span>
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
    </div>
  );
}

function whatIsLoaded({ filter, layout }: ListSettings): string {
  if (filter.value.kind === 'conflicts') {
    return 'Reads the revisions of all documents, and whole those that have several.';
  }
  return layout.value === 'ids'
    ? `Loads ids and revisions, ${PAGE} at a time.`
    : `Loads whole documents, ${PAGE_WITH_DOCS} at a time.`;
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
