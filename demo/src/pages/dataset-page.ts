/** A database: its list, and beside it a document or the world. */
import type { Database } from '../data/database.ts';
import { type Dataset, type Place, placesOf } from '../data/datasets.ts';
import type { RequestLog } from '../data/request-log.ts';
import { DocumentEditor } from '../document/document-editor.ts';
import { fill, make } from '../elements/elements.ts';
import { formatCount } from '../elements/format.ts';
import { type Change, Changes } from '../following/changes.ts';
import type { Connections } from '../following/connections.ts';
import { DocumentList } from '../list/document-list.ts';
import { LoadPanel } from '../list/load-panel.ts';
import { hashOf } from '../routes.ts';
import { Overview } from './overview.ts';

/** This many changes at once are a load in another tab: the map shows each of them, and keeps them. */
const MANY = 10;
const FILLING_MS = 1000;

export class DatasetPage {
  readonly element: HTMLElement;
  readonly #dataset: Dataset;
  readonly #database: Database;
  readonly #list: DocumentList;
  readonly #panel: LoadPanel;
  readonly #overview: Overview;
  readonly #log: RequestLog;
  readonly #changes: Changes;
  readonly #aside = make('div', { class: 'detail' });
  #document: { readonly id: string; readonly editor: DocumentEditor } | undefined;
  /** Documents that were left with an unsaved edit. */
  readonly #drafts = new Map<string, DocumentEditor>();
  #query = '';
  #isShown = false;
  #documents: number | undefined;
  /** What another tab loads: when it last wrote, and how many documents there are by now. */
  #filling = { at: Number.NEGATIVE_INFINITY, documents: 0 };

  constructor(dataset: Dataset, database: Database, log: RequestLog, connections: Connections) {
    this.#dataset = dataset;
    this.#database = database;
    this.#log = log;
    this.#overview = new Overview(dataset);
    this.#list = new DocumentList(dataset, this.#database, connections, {
      onQuery: (query) => history.replaceState(null, '', hashOf(dataset, this.#document?.id, query)),
      onShown: (places) => this.#showPlaces(places),
    });
    this.#panel = new LoadPanel(dataset, this.#database, {
      onBatch: (documents) => this.#overview.light(placesOf(documents.map((line) => JSON.parse(line)))),
      onLoading: () => this.#followOrNot(),
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
    this.#documents = documents;
    this.element.classList.toggle('is-empty', !documents);
    this.#panel.documents = documents;
    this.#overview.count = documents ?? 0;
    this.#list.documents = documents ?? 0;
    this.#followOrNot();
    if (documents === undefined) this.#document?.editor.end();
    else if (this.#panel.isLoading) void this.#list.refresh();
  }

  focusSearch(): void {
    this.#list.focusSearch();
  }

  show(id: string | undefined, query: string): void {
    this.#query = query;
    this.#list.show(query, id);
    this.element.classList.toggle('has-document', id !== undefined);
    if (id !== this.#document?.id) this.#leave();
    if (id === undefined) {
      fill(this.#aside, this.#overview.element);
    } else if (id !== this.#document?.id) this.#open(id);
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
      });
    this.#document = { id, editor };
    fill(this.#aside, editor.element);
    this.#aside.scrollTo({ top: 0 });
    if (draft) draft.catchUp().catch(() => undefined);
    else void editor.open();
  }

  /** Documents that this page loads itself need not be reported to it one by one. */
  #followOrNot(): void {
    const isFollowing = this.#isShown && this.#documents !== undefined && !this.#panel.isLoading;
    if (isFollowing) this.#changes.open();
    else this.#changes.close();
    this.#list.isFollowing = isFollowing;
  }

  /** Changes are reported from now on. */
  #catchUp(): void {
    void this.#list.refresh('logged');
    this.#document?.editor.catchUp().catch(() => undefined);
  }

  #follow(changes: readonly Change[]): void {
    const news = changes.filter(({ isOwn }) => !isOwn);
    const isMore = this.#isFilling;
    if (news.length > MANY) {
      this.#filling = { at: performance.now(), documents: (isMore ? this.#filling.documents : 0) + news.length };
      this.#overview.light(placesOf(news.flatMap(({ document }) => document ?? [])));
      this.#overview.tellLoad(this.#filling.documents);
      this.#tell(`${formatCount(this.#filling.documents)} changes`, isMore);
    } else {
      for (const change of news) {
        this.#overview.tell(change);
        this.#tell(`${change.id} ${change.rev}`, false);
      }
    }
    this.#list.follow(changes);
    for (const change of news) if (change.id === this.#document?.id) this.#document.editor.follow(change);
  }

  #tell(told: string, isMore: boolean): void {
    this.#log.tell(`/db/${this.#dataset.name}/_changes`, told, isMore);
  }

  get #isFilling(): boolean {
    return performance.now() - this.#filling.at < FILLING_MS;
  }

  /** While documents are loaded the world keeps its lit dots. */
  #showPlaces(places: readonly Place[]): void {
    if (this.#panel.isLoading || this.#isFilling) this.#overview.light(places);
    else this.#overview.showPage(places);
  }
}
