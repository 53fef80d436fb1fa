/** A database: its list, beside it a document or the world. */
import type { DatabaseInfo } from '../data/database.ts';
import { Database } from '../data/database.ts';
import { type Dataset, type Place, placesOf } from '../data/datasets.ts';
import { Watcher } from '../data/watcher.ts';
import { DocumentEditor } from '../document/document-editor.ts';
import { fill, make } from '../elements/elements.ts';
import { DocumentList } from '../list/document-list.ts';
import { LoadPanel } from '../list/load-panel.ts';
import type { RequestLog } from '../requests/request-log.ts';
import { hashOf } from '../routes.ts';
import { Overview } from '../world-map/overview.ts';

export class DatasetPage {
  readonly element: HTMLElement;
  readonly #dataset: Dataset;
  readonly #database: Database;
  readonly #list: DocumentList;
  readonly #panel: LoadPanel;
  readonly #overview: Overview;
  readonly #watcher: Watcher;
  readonly #aside = make('div', { class: 'detail' });
  #document: { readonly id: string; readonly editor: DocumentEditor } | undefined;
  /** Documents that were left with an edit that is not saved. */
  readonly #drafts = new Map<string, DocumentEditor>();
  #query = '';
  #isEmpty = true;

  constructor(dataset: Dataset, log: RequestLog, onInfo: (info: DatabaseInfo | undefined) => void) {
    this.#dataset = dataset;
    this.#database = new Database(dataset.name, log);
    this.#overview = new Overview(dataset);
    this.#list = new DocumentList(dataset, this.#database, {
      onQuery: (query) => history.replaceState(null, '', hashOf(dataset, this.#document?.id, query)),
      onShown: (places) => this.#showPlaces(places),
    });
    this.#panel = new LoadPanel(dataset, this.#database, {
      onBatch: (documents) => this.#overview.light(placesOf(documents.map((line) => JSON.parse(line)))),
      onEnd: () => this.#watcher.check(),
    });
    this.#watcher = new Watcher(this.#database, (info) => {
      this.#follow(info);
      onInfo(info);
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

  /** Begins to watch the database. */
  start(): void {
    this.#watcher.start();
  }

  stop(): void {
    this.#watcher.stop();
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
        onWritten: () => void this.#watcher.check(),
      });
    this.#document = { id, editor };
    fill(this.#aside, editor.element);
    this.#aside.scrollTo({ top: 0 });
    if (draft) draft.follow().catch(() => undefined);
    else void editor.open();
  }

  #follow(info: DatabaseInfo | undefined): void {
    const documents = info?.documents ?? 0;
    this.#isEmpty = documents === 0;
    this.element.classList.toggle('is-empty', this.#isEmpty);
    this.#panel.documents = info?.documents;
    this.#overview.count = documents;
    if (info) void this.#list.refresh();
    this.#document?.editor.follow().catch(() => undefined);
  }

  /** While documents are loaded the world keeps what was lit. */
  #showPlaces(places: readonly Place[]): void {
    if (this.#panel.isLoading) this.#overview.light(places);
    else this.#overview.showPage(places);
  }
}
