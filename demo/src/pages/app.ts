/** The page: shows what its address says. */
import type { Settee } from 'settee';
import { type Dataset, datasets } from '../data/datasets.ts';
import { fill, make } from '../elements/elements.ts';
import { RequestBar } from '../requests/request-bar.ts';
import { RequestLog } from '../requests/request-log.ts';
import { type Route, readRoute } from '../routes.ts';
import { AppBar } from './app-bar.ts';
import { BrowserPage } from './browser-page.ts';
import { DatasetPage } from './dataset-page.ts';

interface Page {
  readonly element: HTMLElement;
  start(): void;
  stop(): void;
}

export class App {
  readonly bar = new AppBar();
  readonly #main = make('main', { id: 'main' });
  readonly #log = new RequestLog();
  readonly #datasetPages = new Map<Dataset, DatasetPage>();
  #settee: Settee | undefined;
  #browserPage: BrowserPage | undefined;
  #page: Page | undefined;

  /** Shows itself while the database is opened. */
  mount(): void {
    const opening = make('div', { class: 'opening', role: 'status' }, make('p', {}, 'Opening the database …'));
    fill(this.#main, opening);
    document.body.append(this.bar.element, this.#main, new RequestBar(this.#log).element);
  }

  /** From now on the database answers. */
  begin(settee: Settee): void {
    this.#settee = settee;
    addEventListener('hashchange', () => this.#show());
    addEventListener('keydown', (event) => this.#onKey(event));
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

  #show(): void {
    const [fallback] = datasets;
    if (!fallback) return;
    const route = readRoute(location.hash, fallback);
    const page = this.#pageOf(route);
    if (page !== this.#page) {
      this.#page?.stop();
      this.#page = page;
      fill(this.#main, page.element);
      page.start();
    }
    if (route.page === 'dataset') this.#datasetPages.get(route.dataset)?.show(route.id, route.query);
    this.bar.show(route);
    document.title = titleOf(route);
  }

  #pageOf(route: Route): Page {
    if (route.page === 'browser') return this.#browser();
    const { dataset } = route;
    const known = this.#datasetPages.get(dataset);
    if (known) return known;
    const page = new DatasetPage(dataset, this.#log, (info) => this.bar.setCount(dataset, info?.documents));
    this.#datasetPages.set(dataset, page);
    return page;
  }

  #browser(): Page {
    if (!this.#settee) throw new Error('The database is not open yet');
    this.#browserPage ??= new BrowserPage(this.#settee, this.#log);
    return this.#browserPage;
  }

  #onKey(event: KeyboardEvent): void {
    const { target, key } = event;
    const isTyping = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
    if (key !== '/' || isTyping || !(this.#page instanceof DatasetPage)) return;
    event.preventDefault();
    this.#page.focusSearch();
  }
}

function titleOf(route: Route): string {
  if (route.page === 'browser') return 'This browser · Settee demo';
  return `${route.id ?? route.dataset.title} · Settee demo`;
}
