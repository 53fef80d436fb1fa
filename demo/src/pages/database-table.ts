/** The databases of this browser, with what can be done with each. */
import type { Settee } from 'settee';
import type { Database, DatabaseInfo } from '../data/database.ts';
import { button, fill, make } from '../elements/elements.ts';
import { formatBytes, formatCount } from '../elements/format.ts';
import { TransferButtons } from './transfer-buttons.ts';

export interface DatabaseEntry {
  readonly database: Database;
  /** Undefined: it does not exist. */
  readonly info: DatabaseInfo | undefined;
  readonly documents: number;
}

/** What a database of the demo is for, and what deleting it means. */
const KNOWN: Readonly<Record<string, { readonly about: string; readonly loss: string }>> = {
  countries: { about: 'The page Countries', loss: 'You can load them again.' },
  cities: { about: 'The page Cities', loss: 'You can load them again.' },
  packing: {
    about: 'The list of the page Sync',
    loss: 'What the server has of them is copied back when you open the page Sync.',
  },
  'notes-phone': {
    about: 'The phone of the page Field notes',
    loss: 'What the server or the laptop has is copied back.',
  },
  'notes-laptop': {
    about: 'The laptop of the page Field notes',
    loss: 'What the server or the phone has is copied back.',
  },
  _replicator: { about: 'What these pages ask to be replicated', loss: '' },
};

export class DatabaseTable {
  readonly element: HTMLElement;
  readonly #settee: Settee;
  readonly #transfers = new Map<string, TransferButtons>();
  readonly #rows = make('tbody', {});
  readonly #dialog = make('dialog', { 'aria-labelledby': 'dialog-title' });
  readonly #onDeleted: () => Promise<void>;

  constructor(settee: Settee, onDeleted: () => Promise<void>) {
    this.#settee = settee;
    this.#onDeleted = onDeleted;
    const head = ['Database', 'Documents', 'Sequence', 'Size', ''].map((text) => make('th', { scope: 'col' }, text));
    this.element = make(
      'div',
      { class: 'table-frame' },
      make('table', { class: 'databases' }, make('thead', {}, make('tr', {}, ...head)), this.#rows),
      this.#dialog,
    );
  }

  /** Somebody is asked whether to delete. */
  get isAsking(): boolean {
    return this.#dialog.open;
  }

  show(entries: readonly DatabaseEntry[]): void {
    fill(this.#rows, ...entries.map((entry) => this.#row(entry)));
  }

  #row(entry: DatabaseEntry): HTMLElement {
    const { database, info, documents } = entry;
    const { name } = database;
    const about = KNOWN[name]?.about;
    const figures = info
      ? [formatCount(documents), formatCount(info.updateSeq), formatBytes(info.bytes)]
      : ['not there', '', ''];
    const path = make('code', {}, `/db/${name}`);
    // Opened by the administration page, which shows everything that is in it.
    const title = info
      ? make('a', { href: `/db/_utils/#/db/${encodeURIComponent(name)}`, target: '_blank' }, path)
      : path;
    return make(
      'tr',
      {},
      make('th', { scope: 'row' }, title, about !== undefined && make('span', { class: 'hint' }, about)),
      ...figures.map((text) => make('td', { class: 'number' }, text)),
      make('td', {}, ...(name.startsWith('_') ? [] : this.#actions(entry))),
    );
  }

  #actions({ database, info, documents }: DatabaseEntry): readonly (HTMLElement | undefined)[] {
    const { name } = database;
    const transfer = this.#transfers.get(name) ?? new TransferButtons(this.#settee, database);
    this.#transfers.set(name, transfer);
    transfer.isThere = info !== undefined;
    const attributes = { class: 'danger', 'data-action': `delete-${name}` };
    const remove = info && button('Delete …', () => this.#confirm(database, documents), attributes);
    return [transfer.element, remove];
  }

  #confirm(database: Database, documents: number): void {
    const close = () => this.#dialog.close();
    const destroy = async () => {
      try {
        await database.destroy();
        close();
        await this.#onDeleted();
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        fill(this.#dialog, make('p', { role: 'alert' }, `Not deleted: ${reason}`), button('Close', close));
      }
    };
    const all = documents === 1 ? 'Its one document goes' : `All ${formatCount(documents)} documents go`;
    const loss = KNOWN[database.name]?.loss ?? 'They can’t be brought back: export them first.';
    fill(
      this.#dialog,
      make('h2', { id: 'dialog-title' }, `Delete /db/${database.name}?`),
      make('p', {}, `${all}, in every tab, with the changes you made. ${loss}`),
      make(
        'div',
        { class: 'actions' },
        button('Delete', () => void destroy(), { class: 'danger solid' }),
        button('Keep it', close, { autofocus: true }),
      ),
    );
    this.#dialog.showModal();
  }
}
