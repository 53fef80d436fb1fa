/** What fills the place of a document while none is chosen: the world, lit where there are documents. */
import type { Dataset, Place } from '../data/datasets.ts';
import { make } from '../elements/elements.ts';
import { formatCount } from '../elements/format.ts';
import { WorldMap } from './world-map.ts';

export class Overview {
  readonly element: HTMLElement;
  readonly #map = new WorldMap('The world, with a dot for every square degree that has a city');
  readonly #count = make('strong', {}, '—');
  readonly #caption: HTMLElement;

  constructor({ plural }: Dataset) {
    this.#caption = make('p', { class: 'overview-count' }, this.#count, ` ${plural} in this browser`);
    this.element = make(
      'section',
      { class: 'overview' },
      make('h1', {}, 'A document database that lives in your browser'),
      make(
        'p',
        { class: 'lead' },
        'This page speaks to it with plain ',
        make('code', {}, "fetch('/db/…')"),
        '. A service worker answers from storage on this device: in every tab, online and offline, with no server behind it.',
      ),
      this.#map.element,
      this.#caption,
    );
  }

  set count(documents: number) {
    this.#count.textContent = formatCount(documents);
  }

  /** Those of the page that is listed. */
  showPage(places: readonly Place[]): void {
    this.#map.clear();
    this.#map.light(places);
  }

  /** Some more, while they are loaded. */
  light(places: readonly Place[]): void {
    this.#map.light(places);
  }
}
