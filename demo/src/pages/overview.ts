/** Takes the place of a document while none is chosen: the world, lit where there are documents. */
import { type Dataset, type Place, placeOf } from '../data/datasets.ts';
import { fill, make } from '../elements/elements.ts';
import { formatCount } from '../elements/format.ts';
import { WorldMap } from '../elements/world-map.ts';
import type { Change } from '../following/changes.ts';

export class Overview {
  readonly element: HTMLElement;
  readonly #dataset: Dataset;
  readonly #map = new WorldMap('The world, with a dot for every square degree that has a city');
  readonly #count = make('strong', {}, '—');
  readonly #news = make('p', { class: 'overview-news', role: 'status' });

  constructor(dataset: Dataset) {
    this.#dataset = dataset;
    const caption = make('p', { class: 'overview-count' }, this.#count, ` ${dataset.plural} in this browser`);
    this.element = make(
      'section',
      { class: 'overview' },
      make('h1', {}, 'A document database that lives in your browser'),
      make(
        'p',
        { class: 'lead' },
        'This page speaks to it with ',
        make('code', {}, "fetch('/db/…')"),
        '. A worker answers from storage on this device: in every tab, online and offline, with no server behind it.',
      ),
      this.#map.element,
      make('div', { class: 'overview-caption' }, caption, this.#news),
    );
  }

  set count(documents: number) {
    this.#count.textContent = formatCount(documents);
  }

  /** Shows the documents of the listed page. */
  showPage(places: readonly Place[]): void {
    this.#map.clear();
    this.#map.light(places);
  }

  /** Lights more places while they are loaded. */
  light(places: readonly Place[]): void {
    this.#map.light(places);
  }

  /** Another tab has just made this change: says so, and shows where. */
  tell(change: Change): void {
    this.#say(this.#describe(change));
    if (change.document) this.#map.pulse(placeOf(change.document));
  }

  /** Another tab loads, and has written this many documents by now. */
  tellLoad(documents: number): void {
    this.#say(`Another tab wrote ${formatCount(documents)} ${this.#dataset.plural}`);
  }

  /** Uses a new element each time, since it fades away. */
  #say(text: string): void {
    fill(this.#news, make('span', {}, text));
  }

  #describe({ id, rev, document }: Change): string {
    if (!document) return `Another tab deleted ${id}`;
    return `Another tab ${rev.startsWith('1-') ? 'added' : 'changed'} ${this.#dataset.describe(document).title}`;
  }
}
