/** The notes of a device, the latest first, and the search in them. */
import { arrange, button, fill, icon, icons, make } from '../elements/elements.ts';
import { formatCount } from '../elements/format.ts';
import type { Device } from './devices.ts';
import type { ViewRow } from './live-rows.ts';
import { asPlace, formatNoteTime, formatPlace, kindTitle, THUMBNAIL, titleOf } from './note.ts';
import type { NoteStore } from './note-store.ts';
import { quoted } from './sentences.ts';

export interface ListHost {
  onOpen(id: string): void;
  onFailed(error: unknown): void;
}

/** More are found by the search. */
const SHOWN = 60;
const TYPING_MS = 150;

export class NoteList {
  readonly element: HTMLElement;
  readonly #store: NoteStore;
  readonly #host: ListHost;
  readonly #search: HTMLInputElement;
  readonly #list = make('ol', { class: 'notes-rows' });
  readonly #note = make('p', { class: 'hint', role: 'status' });
  readonly #only = make('p', { class: 'notes-only', hidden: true });
  readonly #undo = make('div', { class: 'undo', hidden: true });
  readonly #items = new Map<string, { readonly text: string; readonly element: HTMLElement }>();
  #rows: readonly ViewRow[] = [];
  /** What the search found; undefined while nothing is searched. */
  #found: ReadonlySet<string> | undefined;
  /** Those of a pin of the map. */
  #place: ReadonlySet<string> | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #hasBegun = false;

  constructor({ name, title }: Device, store: NoteStore, host: ListHost) {
    this.#store = store;
    this.#host = host;
    this.#search = make('input', {
      type: 'search',
      id: `${name}-search`,
      placeholder: 'Search texts, kinds and tags',
      'aria-label': 'Search texts, kinds and tags',
      autocomplete: 'off',
      spellcheck: 'false',
      input: () => this.#searchSoon(),
    });
    this.element = make(
      'section',
      { class: 'notes-list', 'aria-label': `Notes: ${title}` },
      make('div', { class: 'search notes-search' }, icon(icons.search), this.#search),
      this.#only,
      this.#undo,
      this.#list,
      this.#note,
    );
  }

  show(rows: readonly ViewRow[]): void {
    this.#rows = rows;
    this.#hasBegun = true;
    // What was written may have the words that are searched.
    if (this.#isSearching) void this.#searchNow();
    else this.#render();
  }

  /** Only these; undefined: all. */
  set place(ids: readonly string[] | undefined) {
    this.#place = ids && new Set(ids);
    const all = button('Show all', () => (this.place = undefined), { class: 'quiet' });
    this.#only.hidden = ids === undefined;
    fill(this.#only, `${ids?.length ?? 0} notes of one place`, all);
    this.#render();
  }

  /** Says that a note was deleted, and offers to bring it back. It has the focus, but not its button: a second press must not be one of that. */
  offerUndo(title: string, onUndo: () => void): void {
    const undo = () => {
      this.endUndo();
      onUndo();
    };
    const text = make('p', { role: 'status', tabindex: '-1' }, `${quoted(title)} was deleted.`);
    fill(this.#undo, text, button('Undo', undo, { class: 'undo-now', 'data-action': 'undo-delete' }));
    this.#undo.hidden = false;
    text.focus();
  }

  endUndo(): void {
    this.#undo.hidden = true;
  }

  focus(id: string): void {
    this.#items.get(id)?.element.querySelector('button')?.focus();
  }

  get #isSearching(): boolean {
    return this.#search.value.trim() !== '';
  }

  #searchSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#searchNow(), TYPING_MS);
  }

  async #searchNow(): Promise<void> {
    const text = this.#search.value.trim();
    try {
      const found = text === '' ? undefined : await this.#store.search(text);
      // Something else was typed meanwhile.
      if (text !== this.#search.value.trim()) return;
      this.#found = found;
      this.#render();
    } catch (error) {
      this.#host.onFailed(error);
    }
  }

  #render(): void {
    const matching = this.#rows.filter(({ id }) => (this.#found?.has(id) ?? true) && (this.#place?.has(id) ?? true));
    const shown = matching.slice(0, SHOWN);
    const isFocusHere = this.#list.contains(document.activeElement);
    const focused = isFocusHere ? document.activeElement?.closest('li')?.getAttribute('data-id') : undefined;
    arrange(
      this.#list,
      shown.map((row) => this.#item(row)),
    );
    if (focused && !this.#list.contains(document.activeElement)) this.focus(focused);
    for (const id of this.#items.keys()) if (!this.#rows.some((row) => row.id === id)) this.#items.delete(id);
    fill(this.#note, this.#describe(matching.length, shown.length));
  }

  #describe(matching: number, shown: number): string {
    if (this.#isSearching && matching === 0) return `No note has the words “${this.#search.value.trim()}”.`;
    if (this.#isSearching) return `${formatCount(matching)} of ${formatCount(this.#rows.length)} notes`;
    if (matching > shown) return `And ${formatCount(matching - shown)} older ones, which the search finds.`;
    return this.#hasBegun && matching === 0 ? 'No notes yet.' : '';
  }

  /** An item stays as it is while its row does. */
  #item(row: ViewRow): HTMLElement {
    const text = JSON.stringify(row);
    const known = this.#items.get(row.id);
    if (known?.text === text) return known.element;
    const element = this.#make(row, known !== undefined || this.#items.size > 0);
    this.#items.set(row.id, { text, element });
    return element;
  }

  #make({ id, key, value }: ViewRow, isNews: boolean): HTMLElement {
    const text = String(value.text ?? '');
    const kind = kindTitle(String(value.kind ?? ''));
    const place = asPlace(value.latlng);
    const address = this.#store.photoAddress(id, value.rev, THUMBNAIL);
    const picture = value.photo
      ? make('img', { class: 'thumb', src: address, alt: '', width: 44, height: 44 })
      : make('span', { class: 'thumb', 'aria-hidden': 'true' }, kind.slice(0, 1));
    const about = [kind, formatNoteTime(String(key ?? '')), place && formatPlace(place)].filter(
      (part) => part !== undefined,
    );
    const open = make(
      'button',
      { type: 'button', class: 'note-row', click: () => this.#host.onOpen(id) },
      picture,
      make('span', { class: 'note-row-title' }, titleOf(text)),
      make('span', { class: 'note-row-about' }, about.join(' · ')),
      value.conflicts > 0 && make('span', { class: 'note-row-torn' }, `${value.conflicts + 1} versions`),
    );
    return make('li', { 'data-id': id, class: isNews && 'is-news' }, open);
  }
}
