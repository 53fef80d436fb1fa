/** The page: shows what its address says. */
import type { Settee } from 'settee';
import { AppBar } from './app-bar.ts';
import { BrowserView } from './browser-view.ts';
import { DatasetView } from './dataset-view.ts';
import { type Dataset, datasets } from './datasets.ts';
import { fill, make } from './elements.ts';
import { RequestBar } from './request-bar.ts';
import { RequestLog } from './request-log.ts';
import { type Route, readRoute } from './routes.ts';

interface View {
  readonly element: HTMLElement;
  start(): void;
  stop(): void;
}

export class App {
  readonly bar = new AppBar();
  readonly #main = make('main', { id: 'main' });
  readonly #log = new RequestLog();
  readonly #datasetViews = new Map<Dataset, DatasetView>();
  #settee: Settee | undefined;
  #browserView: BrowserView | undefined;
  #view: View | undefined;

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
    const view = this.#viewOf(route);
    if (view !== this.#view) {
      this.#view?.stop();
      this.#view = view;
      fill(this.#main, view.element);
      view.start();
    }
    if (route.view === 'dataset') this.#datasetViews.get(route.dataset)?.show(route.id, route.query);
    this.bar.show(route);
    document.title = titleOf(route);
  }

  #viewOf(route: Route): View {
    if (route.view === 'browser') return this.#browser();
    const { dataset } = route;
    const known = this.#datasetViews.get(dataset);
    if (known) return known;
    const view = new DatasetView(dataset, this.#log, (info) => this.bar.setCount(dataset, info?.documents));
    this.#datasetViews.set(dataset, view);
    return view;
  }

  #browser(): View {
    if (!this.#settee) throw new Error('The database is not open yet');
    this.#browserView ??= new BrowserView(this.#settee, this.#log);
    return this.#browserView;
  }

  #onKey(event: KeyboardEvent): void {
    const { target, key } = event;
    const isTyping = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
    if (key !== '/' || isTyping || !(this.#view instanceof DatasetView)) return;
    event.preventDefault();
    this.#view.focusSearch();
  }
}

function titleOf(route: Route): string {
  if (route.view === 'browser') return 'This browser · Settee demo';
  return `${route.id ?? route.dataset.title} · Settee demo`;
}
