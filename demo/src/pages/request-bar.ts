/** The last request of this page, and a list of those before it. */

import type { RequestLog } from '../data/request-log.ts';
import { fill, make } from '../elements/elements.ts';
import { RequestList, requestLine } from './request-list.ts';

export class RequestBar {
  readonly element: HTMLElement;
  readonly #log: RequestLog;
  readonly #latest = make('summary', { title: 'Requests of this page' });
  readonly #list: RequestList;
  readonly #details: HTMLDetailsElement;
  #isDue = false;

  constructor(log: RequestLog) {
    this.#log = log;
    this.#list = new RequestList(log);
    this.#details = make('details', {}, this.#latest, this.#list.element);
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
    if (latest) fill(this.#latest, ...requestLine(latest));
    if (this.#details.open) this.#list.refresh();
  }
}
