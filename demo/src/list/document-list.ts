/** The documents of a database in the order of their ids, one page after another: searched by the beginnings of ids, or by words of names. */

import type { Database, PageStart, Row } from '../data/database.ts';
import { type Dataset, type Place, placesOf } from '../data/datasets.ts';
import { wordsOf } from '../data/names.ts';
import type { Logging } from '../data/request-log.ts';
import { slug } from '../data/slug.ts';
import { coalesce } from '../elements/coalesce.ts';
import { button, fill, icon, icons, make } from '../elements/elements.ts';
import { formatCount } from '../elements/format.ts';
import type { Change } from '../following/changes.ts';
import type { Connections } from '../following/connections.ts';
import { hashOf } from '../routes.ts';
import { FoundRows } from './found-rows.ts';
import { ListCounts } from './list-counts.ts';
import { ListWindow, PAGE, WINDOW } from './list-window.ts';

export interface ListHost {
  /** The search has changed. */
  onQuery(query: string): void;
  /** These documents are shown now. */
  onShown(places: readonly Place[], isSearch: boolean): void;
}

const START: PageStart = { from: undefined, backwards: false };

export class DocumentList {
  readonly element: HTMLElement;
  readonly #dataset: Dataset;
  readonly #database: Database;
  readonly #host: ListHost;
  readonly #search: HTMLInputElement;
  readonly #list = make('ul', { class: 'rows' });
  readonly #note = make('p', { class: 'empty-note', hidden: true });
  readonly #range = make('span', { class: 'range', 'aria-live': 'polite' });
  readonly #previous: HTMLButtonElement;
  readonly #next: HTMLButtonElement;
  readonly #readSoon: () => Promise<void>;
  /** For the next reading: a request that the user did not ask for is not shown among the requests. */
  #logging: Logging = 'quiet';
  #window: ListWindow | FoundRows = new ListWindow([], '', '');
  readonly #counts: ListCounts;
  /** Documents that other tabs have just written: shown with a flash, once. */
  readonly #news = new Set<string>();
  #position = START;
  /** The prefix of the last reading; undefined before the first. */
  #prefixRead: string | undefined;
  #selected: string | undefined;

  constructor(dataset: Dataset, database: Database, connections: Connections, host: ListHost) {
    this.#dataset = dataset;
    this.#database = database;
    this.#host = host;
    this.#counts = new ListCounts(database, connections, () => this.#showRange());
    this.#readSoon = coalesce(() => this.#read().catch((error) => this.#fail(error)));
    this.#search = make('input', {
      type: 'search',
      id: 'search',
      placeholder: dataset.isFoundByName
        ? `Find by name in any language, such as ${dataset.example}`
        : `Find by id, such as ${dataset.example}`,
      'aria-label': dataset.isFoundByName
        ? `Find ${dataset.plural} by their names in any language`
        : `Find ${dataset.plural} by the beginning of their ids`,
      autocomplete: 'off',
      spellcheck: 'false',
      input: () => this.#searchAgain(),
      // Where the list scrolls with the page, what is found shows right below.
      focus: () => this.element.scrollIntoView({ block: 'start' }),
      keydown: (event) => this.#onSearchKey(event),
    });
    this.#previous = this.#pager('Previous page', icons.back, () => this.#turn(true));
    this.#next = this.#pager('Next page', icons.forward, () => this.#turn(false));
    this.#list.addEventListener('keydown', (event) => this.#onListKey(event));
    this.#list.setAttribute('aria-label', dataset.title);
    this.element = make(
      'section',
      { class: 'list' },
      make('div', { class: 'search' }, icon(icons.search), this.#search, make('kbd', { 'aria-hidden': 'true' }, '/')),
      make('div', { class: 'rows-frame' }, this.#list, this.#note),
      make('div', { class: 'pager' }, this.#range, this.#previous, this.#next),
    );
  }

  focusSearch(): void {
    this.#search.focus();
    this.#search.select();
  }

  /** Shows what the address says. */
  show(query: string, selected: string | undefined): void {
    if (this.#search.value !== query && document.activeElement !== this.#search) this.#search.value = query;
    const left = this.#selected;
    this.#selected = selected;
    // Another query by a link, the address bar, or the Back button.
    if (this.#prefixRead !== undefined && this.#prefixRead !== this.#prefix) {
      this.#position = START;
      void this.refresh('logged');
    }
    this.#mark();
    // Also when a document is left: where it takes the place of the list, the list would begin at its top.
    const id = selected ?? left;
    if (id !== undefined) this.#linkOf(id)?.scrollIntoView({ block: 'nearest' });
  }

  /** Reads the page again. */
  refresh(logging: Logging = 'quiet'): Promise<void> {
    if (logging === 'logged') this.#logging = logging;
    return this.#readSoon();
  }

  /** How many documents the database has. */
  set documents(documents: number) {
    this.#counts.documents = documents;
  }

  /** Whether changes are reported from now on. */
  set isFollowing(isFollowing: boolean) {
    this.#counts.isFollowing = isFollowing;
  }

  /** Shows reported changes. Reads again only if so many documents were removed that more must move up than were read ahead. */
  follow(changes: readonly Change[]): void {
    const before = this.#rows;
    for (const change of changes) {
      if (!change.isOwn) this.#news.add(change.id);
      this.#window.follow(change);
    }
    const isSamePage =
      before.length === this.#rows.length && this.#rows.every(({ id }, index) => id === before[index]?.id);
    if (isSamePage) {
      for (const [index, row] of this.#rows.entries()) if (row !== before[index]) this.#replace(index, row);
      this.#news.clear();
      this.#tellShown();
    } else this.#render();
    this.#countFound();
    if (this.#window.isShort) void this.refresh();
  }

  #replace(index: number, row: Row): void {
    const item = this.#list.children[index];
    const hasFocus = item?.contains(document.activeElement);
    const link = this.#link(row);
    item?.replaceChildren(link);
    if (hasFocus) link.focus();
    this.#mark();
  }

  async #read(): Promise<void> {
    const prefix = this.#prefix;
    this.#prefixRead = prefix;
    const start = this.#position;
    const logging = this.#logging;
    this.#logging = 'quiet';
    const words = this.#dataset.isFoundByName ? wordsOf(this.#search.value) : [];
    if (words.length > 0) return this.#readFound(words, logging);
    const { rows, offset, total } = await this.#database.list(prefix, start, WINDOW, logging);
    if (start.backwards) {
      // Where the previous page begins; the list is read from there. If the rows do not fill it, it is the first page.
      const from = rows.length < PAGE ? undefined : rows.at(-PAGE)?.id;
      this.#position = { from, backwards: false };
      return this.#read();
    }
    const [first, end] = prefix === '' ? [0, total] : await this.#database.range(prefix);
    this.#window = new ListWindow(rows, start.from ?? prefix, prefix);
    this.#counts.begin({ prefix, from: start.from, before: offset - first, total: end - first });
    this.#render();
  }

  async #readFound(words: readonly string[], logging: Logging): Promise<void> {
    const rows = await this.#database.getAll(await this.#database.named(words, logging));
    this.#window = new FoundRows(rows, words, this.#prefix);
    this.#countFound();
    this.#render();
  }

  /** All that was found is known, so that its number is, too. */
  #countFound(): void {
    if (!(this.#window instanceof FoundRows)) return;
    this.#counts.know(this.#window.before, this.#window.total);
    this.#showRange();
  }

  #fail(error: unknown): void {
    this.#note.hidden = false;
    fill(this.#note, `The list could not be read: ${error instanceof Error ? error.message : error}`);
  }

  /** The rows of the page. */
  get #rows(): readonly Row[] {
    return this.#window.page;
  }

  get #prefix(): string {
    // A dot or hyphen at the end of the typed text is part of the id.
    const text = this.#search.value.trim();
    const [, name = '', end = ''] = /^(.*?)([-.]?|\.[\w.]*)$/.exec(text) ?? [];
    return slug(name) + end.toLowerCase();
  }

  #searchAgain(): void {
    this.#position = START;
    this.#host.onQuery(this.#search.value.trim());
    void this.refresh('logged');
  }

  #turn(backwards: boolean): void {
    if (this.#window instanceof FoundRows) {
      this.#window.turn(backwards);
      this.#countFound();
      this.#render();
      this.#toTop();
      return;
    }
    const from = backwards ? this.#rows[0]?.id : this.#rows.at(-1)?.id;
    if (from === undefined) return;
    this.#position = backwards ? { from, backwards } : { from: `${from}\0`, backwards };
    void this.refresh('logged').then(() => this.#toTop());
  }

  #toTop(): void {
    this.#list.parentElement?.scrollTo({ top: 0 });
    this.element.scrollIntoView({ block: 'start' });
  }

  #render(): void {
    const rows = this.#rows;
    const focused = document.activeElement?.closest('.rows a')?.getAttribute('data-id');
    fill(this.#list, ...rows.map((row) => make('li', {}, this.#link(row))));
    if (focused) (this.#linkOf(focused) ?? this.#list.querySelector('a'))?.focus();
    this.#mark();
    this.#note.hidden = rows.length > 0;
    fill(this.#note, this.#whyEmpty());
    this.#showRange();
    this.#tellShown();
    // Documents written on other pages are not news when the user gets there.
    this.#news.clear();
  }

  #whyEmpty(): string {
    if (this.#prefix === '') return 'Nothing in here yet.';
    const { isFoundByName, singular } = this.#dataset;
    const text = this.#search.value.trim();
    return isFoundByName
      ? `No ${singular} has a name with “${text}”, in any language.`
      : `No id begins with “${this.#prefix}”.`;
  }

  /** Shows which of the documents are on the page. */
  #showRange(): void {
    const { length } = this.#rows;
    const { before } = this.#counts;
    const last = before + length;
    // Different feeds report the count and the list: the list must not be longer than the count.
    const total = Math.max(this.#counts.total, last);
    fill(this.#range, length === 0 ? '' : `${formatCount(before + 1)}–${formatCount(last)} of ${formatCount(total)}`);
    this.#previous.disabled = before <= 0;
    this.#next.disabled = last >= total;
  }

  #tellShown(): void {
    this.#host.onShown(placesOf(this.#rows.map(({ doc }) => doc)), (this.#prefixRead ?? '') !== '');
  }

  #link({ id, doc }: Row): HTMLAnchorElement {
    const { title, subtitle } = this.#dataset.describe(doc);
    return make(
      'a',
      {
        href: hashOf(this.#dataset, id, this.#search.value.trim()),
        class: this.#news.delete(id) && 'is-news',
        'data-id': id,
      },
      make('span', { class: 'row-title' }, title),
      make('span', { class: 'row-subtitle' }, subtitle),
      make('span', { class: 'row-id' }, id),
    );
  }

  #mark(): void {
    for (const link of this.#list.querySelectorAll('a')) {
      if (link.dataset['id'] === this.#selected) link.setAttribute('aria-current', 'true');
      else link.removeAttribute('aria-current');
    }
  }

  #linkOf(id: string): HTMLAnchorElement | undefined {
    return [...this.#list.querySelectorAll('a')].find((link) => link.dataset['id'] === id);
  }

  #onSearchKey(event: Event): void {
    if (!(event instanceof KeyboardEvent)) return;
    if (event.key === 'ArrowDown') {
      event.preventDefault();
      this.#list.querySelector('a')?.focus();
    } else if (event.key === 'Enter') this.#list.querySelector('a')?.click();
    else if (event.key === 'Escape' && this.#search.value !== '') {
      this.#search.value = '';
      this.#searchAgain();
    }
  }

  #onListKey(event: KeyboardEvent): void {
    const items = [...this.#list.querySelectorAll('a')];
    const index = items.findIndex((item) => item.matches(':focus'));
    const steps: Readonly<Record<string, () => void>> = {
      ArrowDown: () => items[index + 1]?.focus(),
      ArrowUp: () => (index === 0 ? this.focusSearch() : items[index - 1]?.focus()),
      PageDown: () => this.#next.click(),
      PageUp: () => this.#previous.click(),
    };
    const step = steps[event.key];
    if (!step) return;
    event.preventDefault();
    step();
  }

  #pager(label: string, path: string, onClick: () => void): HTMLButtonElement {
    const control = button('', onClick, { class: 'icon-button', 'aria-label': label, title: label, disabled: true });
    control.append(icon(path));
    return control;
  }
}
