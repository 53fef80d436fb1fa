/** The conflicts of a device, one at a time: which of them shows, how many there are, and the next one once it is resolved. */
import { coalesce } from '../elements/coalesce.ts';
import { button, fill, make } from '../elements/elements.ts';
import type { ViewRow } from '../notes/live-rows.ts';
import type { NoteStore } from '../notes/note-store.ts';
import type { Resolution } from '../notes/versions.ts';
import { conflictCard } from './conflict-card.ts';

export interface ConflictPlaceOptions {
  /** The name of the device, for the names of fields, and its title. */
  readonly name: string;
  readonly title: string;
  readonly store: NoteStore;
  readonly onResolve: (id: string, resolution: Resolution, how: string) => void;
  readonly onFailed: (error: unknown) => void;
  /** The last conflict is resolved, and had the focus. `id`: of its note. */
  readonly onEnd: (id: string) => void;
}

export class ConflictPlace {
  readonly element: HTMLElement;
  readonly #options: ConflictPlaceOptions;
  readonly #count = make('p', { role: 'status' });
  readonly #head: HTMLElement;
  readonly #card = make('div', {});
  readonly #render = coalesce(() => this.#show().catch((error) => this.#options.onFailed(error)));
  /** Notes in conflict, in the order of the list. */
  #torn: readonly ViewRow[] = [];
  /** The note whose versions are shown. */
  #id: string | undefined;
  /** Where it was among them. */
  #at = 0;
  /** What the card shows: while it is the same, what is marked in it stays marked. */
  #shown = '';
  /** Had the focus when it was removed, with nothing here that could take it. */
  #unfocused: Element | undefined;

  constructor(options: ConflictPlaceOptions) {
    this.#options = options;
    const step = (label: string, by: number, action: string) =>
      button(label, () => this.#step(by), { class: 'quiet', 'data-action': action });
    this.#head = make(
      'div',
      { class: 'torn-head', hidden: true },
      this.#count,
      step('Previous', -1, 'previous-conflict'),
      step('Next', 1, 'next-conflict'),
    );
    this.element = make('div', { class: 'torn-place', hidden: true }, this.#head, this.#card);
  }

  /** All notes of the device. */
  follow(rows: readonly ViewRow[]): void {
    this.#torn = rows.filter(({ value }) => value.conflicts > 0);
    void this.#render();
  }

  /** Shows the conflict of this note, if it has one. Returns how many versions it has. */
  choose(id: string): number {
    const row = this.#torn.find((one) => one.id === id);
    if (!row) return 1;
    this.#id = id;
    void this.#render();
    return row.value.conflicts + 1;
  }

  /** Shows the versions as they are now: one has changed since. */
  again(): Promise<void> {
    this.#shown = '';
    return this.#render();
  }

  #step(by: number): void {
    const { length } = this.#torn;
    const next = this.#torn[(this.#at + by + length) % length];
    if (next) this.choose(next.id);
  }

  async #show(): Promise<void> {
    const found = this.#torn.findIndex(({ id }) => id === this.#id);
    // After one that is resolved comes the one that takes its place in the list.
    const at = found >= 0 ? found : Math.min(this.#at, this.#torn.length - 1);
    const row = this.#torn[at];
    const shown = row ? `${row.id} ${row.value.rev} ${row.value.conflicts}` : '';
    const card = shown === this.#shown ? undefined : await this.#makeCard(row);
    const left = this.#id;
    const focused = this.#focused();
    this.#shown = shown;
    this.#at = Math.max(0, at);
    this.#id = row?.id;
    this.element.hidden = row === undefined;
    this.#head.hidden = this.#torn.length < 2;
    const count = row ? `Conflict ${this.#at + 1} of ${this.#torn.length}` : '';
    if (this.#count.textContent !== count) fill(this.#count, count);
    if (card) fill(this.#card, ...card);
    if (focused && !focused.checkVisibility()) this.#refocus(focused, left);
  }

  /** What has the focus here, or had it until it was removed and nothing else took it. */
  #focused(): Element | undefined {
    const { activeElement } = document;
    if (activeElement && this.element.contains(activeElement)) return activeElement;
    const isTaken = activeElement !== null && activeElement !== document.body;
    return isTaken ? undefined : this.#unfocused;
  }

  /** Gives the focus, which `was` loses, to the same control of the new card, to the next conflict, or to the note that no longer has one. */
  #refocus(was: Element, left: string | undefined): void {
    const action = was instanceof HTMLElement && left === this.#id ? was.dataset['action'] : undefined;
    const same = action && this.#card.querySelector<HTMLElement>(`[data-action="${action}"]`);
    const target = same || this.#card.querySelector('h3');
    this.#unfocused = undefined;
    if (target) target.focus();
    else if (this.#id === undefined && left !== undefined) this.#options.onEnd(left);
    // Its versions are one already, and the list does not know it yet.
    else this.#unfocused = was;
  }

  async #makeCard(row: ViewRow | undefined): Promise<readonly Element[]> {
    const { name, title, store, onResolve } = this.#options;
    const versions = row && (await store.versions(row.id));
    if (!row || !versions || versions.versions.length < 2) return [];
    const { id } = row;
    const options = { name, title, store, id };
    return [conflictCard({ ...options, onResolve: (resolution, how) => onResolve(id, resolution, how) }, versions)];
  }
}
