/** Takes the place of a document while none is chosen: the world, lit where there are documents. */

import type { Indexing } from '../data/database.ts';
import { type Dataset, type Place, placeOf } from '../data/datasets.ts';
import { fill, make } from '../elements/elements.ts';
import { formatCount, formatShare } from '../elements/format.ts';
import { WorldMap } from '../elements/world-map.ts';
import type { Change } from '../following/changes.ts';
import type { Network } from '../following/network.ts';
import { furtherLinks } from './further.ts';

/** What takes no time is not told. */
const NOTICE_MS = 400;
/** How often the progress of a longer count is asked for. */
const PROGRESS_MS = 300;

export class Overview {
  readonly element: HTMLElement;
  readonly #dataset: Dataset;
  readonly #map = new WorldMap('The world, with a dot for every square degree that has a city');
  readonly #count = make('strong', {}, '—');
  readonly #what = make('span', {});
  readonly #found = make('span', {});
  /** Lit while the map's squares are read, which may not have them yet. */
  #meanwhile: Place[] | undefined;
  readonly #news = make('p', { class: 'overview-news', role: 'status' });
  readonly #counting = make('p', { class: 'overview-counting', role: 'status' });

  constructor(dataset: Dataset, network: Network) {
    this.#dataset = dataset;
    const caption = make('p', { class: 'overview-count' }, this.#count, this.#what, this.#found);
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
      make('p', { class: 'further' }, ...furtherLinks(network)),
      this.#map.element,
      make('div', { class: 'overview-caption' }, caption, this.#counting, this.#news),
    );
  }

  set count(documents: number) {
    const { singular, plural } = this.#dataset;
    this.#count.textContent = formatCount(documents);
    this.#what.textContent = ` ${documents === 1 ? singular : plural} in this browser`;
  }

  /**
   * Lights the squares that have documents, as soon as they are read, and what was lit meanwhile. The first time, the view's index is made of all
   * documents: `progress` says how far that is.
   */
  async lightAll(read: () => Promise<readonly number[]>, progress: () => Promise<Indexing | undefined>): Promise<void> {
    const meanwhile: Place[] = [];
    this.#meanwhile = meanwhile;
    const counting = new AbortController();
    const notice = setTimeout(() => void this.#showCounting(progress, counting.signal), NOTICE_MS);
    const squares = await read().finally(() => {
      clearTimeout(notice);
      counting.abort();
    });
    if (this.#meanwhile !== meanwhile) return;
    this.#meanwhile = undefined;
    this.#map.lightOnly(squares);
    this.#map.light(meanwhile);
  }

  /** Says how far the count of what the map shows is, until `signal` ends it. */
  async #showCounting(progress: () => Promise<Indexing | undefined>, signal: AbortSignal): Promise<void> {
    const bar = make('progress', { max: 1, 'aria-label': 'Counting what the map shows' });
    const share = make('span', {}, '');
    const counting = make('span', { class: 'counting' }, 'Counting what the map shows ', share, bar);
    fill(this.#counting, counting);
    while (!signal.aborted) {
      const now = await progress().catch(() => undefined);
      if (now && now.total > 0) {
        bar.value = now.done / now.total;
        fill(share, `· ${formatCount(now.done)} of ${formatCount(now.total)}, ${formatShare(now.done, now.total)}`);
      }
      await new Promise((resolve) => setTimeout(resolve, PROGRESS_MS));
    }
    counting.remove();
  }

  /** There are no documents. */
  darken(): void {
    this.#meanwhile = undefined;
    this.#map.lightOnly([]);
  }

  /** Lights more places: of documents that are loaded, or listed. */
  light(places: readonly Place[]): void {
    this.#meanwhile?.push(...places);
    this.#map.light(places);
  }

  /** Shows where the listed documents are that were searched for; undefined: there is no search. */
  find(places: readonly Place[] | undefined): void {
    this.#map.find(places);
    const found = places?.length === 0 ? 'none of them found' : `in front the ${places?.length} listed here`;
    this.#found.textContent = places === undefined ? '' : `, ${found}`;
  }

  /** Another tab has just made this change: says so, and shows where. */
  tell(change: Change): void {
    this.#say(this.#describe(change));
    if (change.document) this.#map.pulse(placeOf(change.document));
  }

  /** Another tab loads. How far it is shows in the count. */
  tellLoad(): void {
    this.#say(`Another tab is loading ${this.#dataset.plural}`);
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
