/** A database: its list, and beside it a document or the world. */
import type { Database } from '../data/database.ts';
import { type Dataset, type Place, placesOf } from '../data/datasets.ts';
import type { Progress } from '../data/loading.ts';
import type { RequestLog } from '../data/request-log.ts';
import { DocumentEditor } from '../document/document-editor.ts';
import { fill, make } from '../elements/elements.ts';
import { formatCount } from '../elements/format.ts';
import { type Change, Changes } from '../following/changes.ts';
import type { Connections } from '../following/connections.ts';
import type { Network } from '../following/network.ts';
import { DocumentList } from '../list/document-list.ts';
import { LoadPanel } from '../list/load-panel.ts';
import { hashOf } from '../routes.ts';
import { Overview } from './overview.ts';

/** This many changes at once are a load in another tab: the map shows each of them, and keeps them. */
const MANY = 10;
const FILLING_MS = 1000;

export interface DatasetHost {
  readonly log: RequestLog;
  readonly connections: Connections;
  readonly network: Network;
  /** How many documents there are now; undefined: no database. */
  onCount(documents: number | undefined): void;
}

export class DatasetPage {
  readonly element: HTMLElement;
  readonly #dataset: Dataset;
  readonly #database: Database;
  readonly #list: DocumentList;
  readonly #panel: LoadPanel;
  readonly #overview: Overview;
  readonly #log: RequestLog;
  readonly #changes: Changes;
  readonly #host: DatasetHost;
  readonly #aside = make('div', { class: 'detail' });
  #document: { readonly id: string; readonly editor: DocumentEditor } | undefined;
  /** Documents that were left with an unsaved edit. */
  readonly #drafts = new Map<string, DocumentEditor>();
  #query = '';
  #isShown = false;
  #isFollowing = false;
  /** How many were counted; undefined: no database. */
  #counted: number | undefined;
  /** While this page loads: how many there were before, and are at least, until they are counted. */
  #loaded: { readonly before: number; readonly now: number } | undefined;
  /** The squares of the map have to be read. */
  #isMapStale = true;
  /** What another tab loads: when it last wrote, and how many documents it has written by now. */
  #filling = { at: Number.NEGATIVE_INFINITY, documents: 0 };

  constructor(dataset: Dataset, database: Database, host: DatasetHost) {
    const { log, connections, network } = host;
    this.#dataset = dataset;
    this.#database = database;
    this.#log = log;
    this.#host = host;
    this.#overview = new Overview(dataset, network);
    this.#list = new DocumentList(dataset, this.#database, connections, {
      onQuery: (query) => history.replaceState(null, '', hashOf(dataset, this.#document?.id, query)),
      onShown: (places, isSearch) => this.#showPlaces(places, isSearch),
    });
    this.#panel = new LoadPanel(dataset, this.#database, {
      onBatch: (progress) => this.#onBatch(progress),
      onLoading: () => this.#onLoading(),
    });
    this.#changes = new Changes(this.#database, connections, {
      onBegin: () => this.#catchUp(),
      onChanges: (changes) => this.#follow(changes),
    });
    addEventListener('beforeunload', (event) => {
      if (this.#drafts.size > 0 || this.#document?.editor.isEdited) event.preventDefault();
    });
    this.element = make(
      'div',
      { class: 'dataset is-empty' },
      make('div', { class: 'side' }, this.#panel.element, this.#list.element),
      this.#aside,
    );
  }

  start(): void {
    this.#isShown = true;
    this.#followOrNot();
  }

  stop(): void {
    this.#isShown = false;
    this.#followOrNot();
  }

  /** How many there are, reported again with each one that is added or removed; undefined: no database. */
  set documents(documents: number | undefined) {
    this.#counted = documents;
    if (documents === undefined) {
      this.#loaded = undefined;
      this.#overview.darken();
      this.#document?.editor.end();
    }
    this.#showCount();
    this.#followOrNot();
    if (documents !== undefined && this.#panel.isLoading) void this.#list.refresh();
  }

  /** One number for everything that shows it: what this page has loaded is counted a moment later. */
  #showCount(): void {
    const documents =
      this.#counted === undefined && this.#loaded === undefined
        ? undefined
        : Math.max(this.#counted ?? 0, this.#loaded?.now ?? 0);
    this.element.classList.toggle('is-empty', !documents);
    this.#panel.documents = documents;
    this.#overview.count = documents ?? 0;
    this.#list.documents = documents ?? 0;
    this.#host.onCount(documents);
  }

  #onLoading(): void {
    if (this.#panel.isLoading) this.#loaded = { before: this.#counted ?? 0, now: this.#counted ?? 0 };
    else void this.#countLoaded();
    this.#followOrNot();
  }

  #onBatch({ batch, written }: Progress): void {
    this.#overview.light(placesOf(batch.map((line) => JSON.parse(line))));
    if (!this.#loaded) return;
    const { before } = this.#loaded;
    this.#loaded = { before, now: before + written };
    this.#showCount();
  }

  /** The feed that counts may still be behind. */
  async #countLoaded(): Promise<void> {
    const loaded = this.#loaded;
    const counted = await this.#database.count().catch(() => undefined);
    if (this.#loaded !== loaded) return;
    this.#loaded = undefined;
    if (this.#counted !== undefined && counted !== undefined) this.#counted = counted;
    this.#showCount();
  }

  focusSearch(): void {
    this.#list.focusSearch();
  }

  show(id: string | undefined, query: string): void {
    this.#query = query;
    this.element.classList.toggle('has-document', id !== undefined);
    if (id !== this.#document?.id) this.#leave();
    if (id === undefined) {
      fill(this.#aside, this.#overview.element);
      this.#lightAll();
    } else if (id !== this.#document?.id) this.#open(id);
    // Last, because it brings the row into sight.
    this.#list.show(query, id);
  }

  #leave(): void {
    if (this.#document?.editor.isEdited) this.#drafts.set(this.#document.id, this.#document.editor);
    this.#document = undefined;
  }

  #open(id: string): void {
    const draft = this.#drafts.get(id);
    this.#drafts.delete(id);
    const editor =
      draft ??
      new DocumentEditor(id, this.#dataset, this.#database, {
        listHash: hashOf(this.#dataset, undefined, this.#query),
        isLoaded: () => (this.#counted ?? 0) > 0,
      });
    this.#document = { id, editor };
    fill(this.#aside, editor.element);
    this.#aside.scrollTo({ top: 0 });
    // On a narrow screen the page scrolls, with all that is in it.
    this.element.scrollTo({ top: 0 });
    if (draft) draft.catchUp().catch(() => undefined);
    else void editor.open();
  }

  /** Documents that this page loads itself need not be reported to it one by one. */
  #followOrNot(): void {
    this.#isFollowing = this.#isShown && this.#counted !== undefined && !this.#panel.isLoading;
    if (this.#isFollowing) this.#changes.open();
    else this.#changes.close();
    this.#list.isFollowing = this.#isFollowing;
  }

  /** Changes are reported from now on. */
  #catchUp(): void {
    void this.#list.refresh('logged');
    this.#isMapStale = true;
    this.#lightAll();
    this.#document?.editor.catchUp().catch(() => undefined);
  }

  #follow(changes: readonly Change[]): void {
    const news = changes.filter(({ isOwn }) => !isOwn);
    const isMore = this.#isFilling;
    if (news.length > MANY) {
      this.#filling = { at: performance.now(), documents: (isMore ? this.#filling.documents : 0) + news.length };
      this.#overview.light(placesOf(news.flatMap(({ document }) => document ?? [])));
      this.#overview.tellLoad();
      this.#tell(`${formatCount(this.#filling.documents)} changes`, isMore);
    } else {
      for (const change of news) {
        this.#overview.tell(change);
        this.#tell(`${change.id} ${change.rev}`, false);
      }
    }
    this.#list.follow(changes);
    // Where a document was that is gone, the map can't tell, nor whether others are there.
    this.#isMapStale ||= changes.some(({ document }) => document === undefined);
    this.#lightAll();
    for (const change of news) if (change.id === this.#document?.id) this.#document.editor.follow(change);
  }

  #tell(told: string, isMore: boolean): void {
    this.#log.tell(`/db/${this.#dataset.name}/_changes`, told, isMore);
  }

  get #isFilling(): boolean {
    return performance.now() - this.#filling.at < FILLING_MS;
  }

  /** The map is read once it is shown; from then on, changes are lit as they are reported. */
  #lightAll(): void {
    if (!this.#isMapStale || this.#document || !this.#isFollowing) return;
    this.#isMapStale = false;
    this.#overview
      .lightAll(
        () => this.#database.squares(),
        () => this.#database.mapIndexing(),
      )
      .catch(() => {
        this.#isMapStale = true;
      });
  }

  #showPlaces(places: readonly Place[], isSearch: boolean): void {
    this.#overview.find(isSearch ? places : undefined);
    this.#overview.light(places);
  }
}
