/** The last request of this page, and a list of those before it. */

import type { LoggedEvent, LoggedRequest, RequestLog } from '../data/request-log.ts';
import { fill, make } from '../elements/elements.ts';
import { formatMs } from '../elements/format.ts';

export class RequestBar {
  readonly element: HTMLElement;
  readonly #log: RequestLog;
  readonly #latest = make('summary', { 'aria-label': 'Requests of this page' });
  readonly #list = make('ol', { class: 'requests' });
  readonly #details = make('details', {}, this.#latest, this.#list);
  #isDue = false;

  constructor(log: RequestLog) {
    this.#log = log;
    fill(this.#latest, make('span', { class: 'hint' }, 'Requests show here'));
    this.element = make('footer', { class: 'request-bar' }, this.#details);
    log.addEventListener('request', () => this.#renderSoon());
    this.#details.addEventListener('toggle', () => this.#renderSoon());
  }

  #renderSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#render();
    });
  }

  #render(): void {
    const [latest] = this.#log.entries;
    if (latest) fill(this.#latest, ...line(latest));
    if (this.#details.open) fill(this.#list, ...this.#log.entries.map((entry) => make('li', {}, ...line(entry))));
  }
}

function line(entry: LoggedRequest | LoggedEvent): readonly Node[] {
  const start = [make('span', { class: 'method' }, entry.method), make('span', { class: 'path' }, entry.path)];
  if (!('status' in entry)) return start;
  const { status, ms } = entry;
  const tone = status === 0 || status >= 400 ? 'bad' : 'good';
  return [
    ...start,
    make('span', { class: 'status', 'data-tone': tone }, status === 0 ? 'failed' : String(status)),
    make('span', { class: 'ms' }, formatMs(ms)),
  ];
}
