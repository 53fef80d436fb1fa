/** The page: shows what its address says. */
import type { Settee } from 'settee';
import { Database } from '../data/database.ts';
import { type Dataset, datasets } from '../data/datasets.ts';
import { RequestLog } from '../data/request-log.ts';
import { fill, make } from '../elements/elements.ts';
import { Connections } from '../following/connections.ts';
import { DatabaseWatch } from '../following/database-watch.ts';
import { Network } from '../following/network.ts';
import { NotesPage } from '../notes/notes-page.ts';
import { type Route, readRoute } from '../routes.ts';
import { AppBar } from './app-bar.ts';
import { BrowserPage } from './browser-page.ts';
import { DatasetPage } from './dataset-page.ts';
import { RequestBar } from './request-bar.ts';
import { SyncPage } from './sync-page.ts';

interface Page {
  readonly element: HTMLElement;
  start(): void;
  stop(): void;
}

export class App {
  readonly #connections = new Connections();
  readonly #log = new RequestLog();
  readonly #network = new Network(this.#log.server);
  readonly bar = new AppBar(this.#connections, this.#network);
  readonly #main = make('main', { id: 'main' });
  readonly #datasetPages = new Map<Dataset, DatasetPage>();
  #browserPage: BrowserPage | undefined;
  readonly #notesPage = new NotesPage(this.#log, this.#connections, this.#network);
  readonly #syncPage = new SyncPage(this.#log, this.#connections, this.#network);
  #page: Page | undefined;

  /** Shows itself while the database is opened. */
  mount(): void {
    const opening = make('div', { class: 'opening', role: 'status' }, make('p', {}, 'Opening the database …'));
    fill(this.#main, opening);
    document.body.append(this.bar.element, this.#main, new RequestBar(this.#log).element);
    this.#network.start();
  }

  /** From now on the database answers. */
  begin(settee: Settee): void {
    this.#log.use(settee.fetch);
    this.#makePages(settee);
    addEventListener('hashchange', () => this.#show());
    addEventListener('keydown', (event) => this.#onKey(event));
    addEventListener('dragover', refuseFile);
    addEventListener('drop', refuseFile);
    this.#show();
  }

  fail(error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    const again = make('button', { type: 'button', class: 'primary', click: () => location.reload() }, 'Try again');
    fill(
      this.#main,
      make(
        'div',
        { class: 'opening', role: 'alert' },
        make('h1', {}, 'The database did not open'),
        make('p', {}, reason),
        again,
      ),
    );
  }

  /** All of them, since documents counted in one tab show in the head of every other, whatever page it shows. */
  #makePages(settee: Settee): void {
    const [log, connections, network] = [this.#log, this.#connections, this.#network];
    const databases = datasets.map(({ name }) => new Database(name, this.#log));
    const browserPage = new BrowserPage(settee, this.#log, this.#network);
    this.#browserPage = browserPage;
    for (const [index, dataset] of datasets.entries()) {
      const database = databases[index];
      if (!database) continue;
      const onCount = (documents: number | undefined) => {
        this.bar.setCount(dataset.name, documents);
        browserPage.setCount(dataset.name, documents);
      };
      const page = new DatasetPage(dataset, database, { log, connections, network, onCount });
      this.#datasetPages.set(dataset, page);
    }
    const watch = new DatabaseWatch(databases, this.#connections, {
      onCount: ({ name }, documents) => {
        for (const [dataset, page] of this.#datasetPages) if (dataset.name === name) page.documents = documents;
      },
      onUpdated: () => void browserPage.refresh(),
    });
    watch.start();
  }

  #show(): void {
    const [fallback] = datasets;
    if (!fallback) return;
    const route = readRoute(location.hash, fallback);
    const page = this.#pageOf(route);
    if (page && page !== this.#page) {
      this.#page?.stop();
      this.#page = page;
      fill(this.#main, page.element);
      page.start();
    }
    if (route.page === 'dataset') this.#datasetPages.get(route.dataset)?.show(route.id, route.query);
    this.bar.show(route);
    document.title = titleOf(route);
  }

  #pageOf(route: Route): Page | undefined {
    if (route.page === 'notes') return this.#notesPage;
    if (route.page === 'sync') return this.#syncPage;
    return route.page === 'browser' ? this.#browserPage : this.#datasetPages.get(route.dataset);
  }

  #onKey(event: KeyboardEvent): void {
    const { target, key } = event;
    const isTyping = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
    if (key !== '/' || isTyping || !(this.#page instanceof DatasetPage)) return;
    event.preventDefault();
    this.#page.focusSearch();
  }
}

/** The browser would open a file that is dropped beside its frame, in place of this page. */
function refuseFile(event: DragEvent): void {
  if (event.defaultPrevented || !event.dataTransfer?.types.includes('Files')) return;
  event.preventDefault();
  event.dataTransfer.dropEffect = 'none';
}

function titleOf(route: Route): string {
  if (route.page === 'notes') return 'Field notes · Settee demo';
  if (route.page === 'sync') return 'One list, two databases · Settee demo';
  if (route.page === 'browser') return 'This browser · Settee demo';
  return `${route.id ?? route.dataset.title} · Settee demo`;
}
