/** One of the two lists, in its own window. It shows every change of its database, including those that others make. */
import { coalesce } from '../elements/coalesce.ts';
import { arrange, button, fill, make } from '../elements/elements.ts';
import type { Connections } from '../following/connections.ts';
import { Feed } from '../following/feed.ts';
import { type Item, newId, type PackingList, type Version } from './packing-list.ts';

export interface PanelOptions {
  readonly name: string;
  readonly title: string;
  readonly where: string;
  readonly list: PackingList;
  readonly connections: Connections;
}

/** What was typed for an item, and is not stored. */
interface Refused {
  readonly text: string;
  readonly isPacked: boolean;
  /** The database could not be reached. Otherwise somebody else has changed or removed the item meanwhile. */
  readonly isUnsent?: boolean;
}

export class ListPanel {
  readonly element: HTMLElement;
  readonly refresh = coalesce(() => this.#read().catch(() => this.#showLastKnown()));
  readonly #list: PackingList;
  readonly #feed: Feed<unknown>;
  readonly #items = make('ul', { class: 'packing' });
  readonly #note = make('p', { class: 'hint', role: 'status' });
  readonly #entry = make('input', {
    type: 'text',
    name: 'item',
    placeholder: 'Something to pack',
    'aria-label': 'New item',
  });
  /** What was read last; undefined: nothing yet. */
  #known: readonly Item[] | undefined;
  /** A new item that could not be sent, which may be stored nevertheless: it keeps its id. */
  #unsent: { readonly id: string; readonly text: string } | undefined;
  /** What each row shows, of what revisions. */
  readonly #shownIn = new WeakMap<Element, string>();
  /** Edits that are not stored, by the ids of their items. */
  readonly #refused = new Map<string, Refused>();
  /** The item that was removed here last, where it can be brought back. */
  #removed: Item | undefined;

  constructor({ name, title, where, list, connections }: PanelOptions) {
    this.#list = list;
    this.#feed = new Feed(() => list.changesAddress, connections, {
      prepare: async () => {
        await list.create();
      },
      onOpen: () => this.refresh(),
      onEvent: () => void this.refresh(),
      onLost: () => this.#tellAway(),
    });
    const add = (event: Event) => {
      event.preventDefault();
      void this.#add(this.#entry.value.trim());
    };
    this.element = make(
      'section',
      { class: 'side-by-side', 'data-side': name, 'aria-label': title },
      make('header', {}, make('h2', {}, title), make('code', {}, where)),
      this.#items,
      make('form', { class: 'add-item', submit: add }, this.#entry, make('button', { type: 'submit' }, 'Add')),
      this.#note,
    );
  }

  start(): void {
    this.#feed.open();
  }

  stop(): void {
    this.#feed.close();
    this.#removed = undefined;
    this.#known = undefined;
  }

  /** Connects again at once, if it waits to do so. */
  now(): void {
    this.#feed.now();
  }

  /** It was read, and has no items. */
  get isEmpty(): boolean {
    return this.#known?.length === 0;
  }

  async #read(): Promise<void> {
    const items = await this.#list.items();
    fill(this.#note);
    this.element.classList.remove('is-away');
    const isFirst = this.#known === undefined;
    this.#known = items;
    this.#show(items, isFirst ? '' : 'is-news');
  }

  /** `news`: the class of rows that show something else than before. */
  #show(items: readonly Item[], news: string): void {
    const ids = new Set(items.map(({ id }) => id));
    if (this.#removed && ids.has(this.#removed.id)) this.#removed = undefined;
    const kept = new Map([...this.#items.querySelectorAll('li')].map((row) => [row.dataset['id'], row]));
    const refusedRow = (id: string, mine: Refused, theirs?: Item): HTMLElement => {
      const shown = `${JSON.stringify(mine)} ${theirs && textOf(theirs)}`;
      const row = kept.get(id);
      const made = row && this.#shownIn.get(row) === shown ? row : this.#refusedRow(id, mine, theirs);
      this.#shownIn.set(made, shown);
      return made;
    };
    const rows = items.map((item) => {
      const row = kept.get(item.id);
      const refused = this.#refused.get(item.id);
      if (refused) return refusedRow(item.id, refused, item);
      // What is being typed stays, and is decided about when it is stored.
      if (row && (isTypedIn(row) || this.#shownIn.get(row) === textOf(item))) return row;
      const made = this.#row(item);
      this.#shownIn.set(made, textOf(item));
      if (news !== '') made.classList.add(news);
      return made;
    });
    const orphans = [...this.#refused].filter(([id]) => !ids.has(id)).map(([id, one]) => refusedRow(id, one));
    const typed = [...kept.values()].filter((row) => isTypedIn(row) && !ids.has(row.dataset['id'] ?? ''));
    arrange(this.#items, this.#withRemoved([...rows, ...typed, ...orphans], kept.get(removedId(this.#removed))));
  }

  /** The removed item's place, among the others in the order of their ids. */
  #withRemoved(rows: readonly HTMLElement[], shown: HTMLElement | undefined): readonly HTMLElement[] {
    const item = this.#removed;
    if (!item) return rows;
    const at = rows.findIndex((row) => (row.dataset['id'] ?? '') > item.id);
    const place = shown?.dataset['removed'] === undefined ? this.#removedRow(item) : shown;
    return at < 0 ? [...rows, place] : rows.toSpliced(at, 0, place);
  }

  #row(item: Item): HTMLElement {
    const { id, text, isPacked, versions } = item;
    const attributes = { 'data-id': id, class: isPacked ? 'is-packed' : '' };
    if (versions.length > 1) return make('li', { ...attributes, class: 'is-torn' }, this.#choice(item));
    const save = () => void this.#save(item, { text: field.value, isPacked: check.checked });
    const check = make('input', { type: 'checkbox', checked: isPacked, 'aria-label': `Packed: ${text}`, change: save });
    const field = make('input', {
      type: 'text',
      value: text,
      'aria-label': 'Item',
      // What was changed elsewhere meanwhile shows once nobody is in the field.
      blur: () => void this.refresh(),
      change: () => {
        field.defaultValue = field.value;
        save();
        field.blur();
      },
    });
    const remove = button('×', () => void this.#remove(item), {
      class: 'icon-button remove',
      'aria-label': `Remove ${text}`,
    });
    return make('li', attributes, check, field, remove);
  }

  /** What can't be sent stays in the field. */
  async #add(text: string): Promise<void> {
    if (text === '') return;
    this.#entry.value = '';
    const { id } = this.#unsent?.text === text ? this.#unsent : { id: newId() };
    this.#unsent = { id, text };
    const isSent = await this.#change(() => this.#list.add(text, id));
    if (isSent) this.#unsent = undefined;
    else if (this.#entry.value === '') this.#entry.value = text;
  }

  async #save(item: Item, { text, isPacked }: Refused): Promise<void> {
    // A tick that is not stored is of no use any more; words may be.
    const keep = (refused: Refused) => text !== item.text && this.#refused.set(item.id, refused);
    const store = async () => {
      const isStored = await this.#list.save(item, text, isPacked);
      if (!isStored) keep({ text, isPacked });
    };
    await this.#change(store, () => keep({ text, isPacked, isUnsent: true }));
  }

  /** `theirs`: what the item is now. Undefined: it was removed. */
  #refusedRow(id: string, mine: Refused, theirs?: Item): HTMLElement {
    const decide = (label: string, action: string, work?: () => Promise<unknown>) =>
      button(
        label,
        () =>
          void this.#change(async () => {
            await work?.();
            this.#refused.delete(id);
          }),
        { 'data-action': action },
      );
    const now = theirs ? `It was changed elsewhere to “${theirs.text}”` : 'It was removed elsewhere';
    const unsent = theirs ? `It is still “${theirs.text}”` : 'It was removed';
    const text = mine.isUnsent
      ? `“${mine.text}” is not stored, because the database could not be reached. ${unsent}.`
      : `${now}, while you wrote “${mine.text}”.`;
    const store = () => (theirs ? this.#list.save(theirs, mine.text, mine.isPacked) : this.#list.add(mine.text));
    return make(
      'li',
      { 'data-id': id, class: 'is-refused' },
      make(
        'div',
        { class: 'refused', role: 'group', 'aria-label': 'Not stored' },
        make('p', {}, text),
        decide(theirs ? 'Store mine over it' : 'Add mine again', 'store-mine', store),
        decide(theirs ? 'Keep theirs' : 'Let it go', 'keep-theirs'),
      ),
    );
  }

  async #remove(item: Item): Promise<void> {
    await this.#change(async () => {
      await this.#list.remove(item);
      this.#removed = item;
    });
    // It has the focus, but not its button: a second press must neither remove the next item nor bring this one back.
    this.#items.querySelector<HTMLElement>('[data-removed] p')?.focus();
  }

  /** In the place of the item, so that what is below does not move up under the pointer. */
  #removedRow(item: Item): HTMLElement {
    const undo = () =>
      this.#change(async () => {
        this.#removed = undefined;
        await this.#list.restore(item);
      });
    return make(
      'li',
      { 'data-id': item.id, 'data-removed': '', class: 'is-removed' },
      button('Undo', () => void undo(), { 'data-action': 'undo-remove' }),
      make('p', { role: 'status', tabindex: '-1' }, `Removed: ${item.text}`),
    );
  }

  #choice(item: Item): HTMLElement {
    const keep = (version: Version) => void this.#change(() => this.#list.resolve(item, version));
    const versions = choicesOf(item.versions);
    const kept = versions.length > 2 ? `All ${versions.length}` : 'Both';
    return make(
      'div',
      { class: 'versions', role: 'group', 'aria-label': 'A conflict' },
      make('p', {}, `Changed on both sides. ${kept} versions are kept until you choose one:`),
      ...versions.map(({ label, version }) => button(label, () => keep(version), { 'data-action': 'keep' })),
    );
  }

  /**
   * Shows the present state after a change, also after one that was refused because someone else was quicker. Returns false if the
   * database could not be reached: then the rows show again what it had last.
   */
  async #change(work: () => Promise<unknown>, onFailure?: () => void): Promise<boolean> {
    try {
      await work();
    } catch {
      onFailure?.();
      for (const row of this.#items.children) this.#shownIn.delete(row);
      this.#showLastKnown();
      this.#feed.startOver();
      return false;
    }
    await this.refresh();
    return true;
  }

  #showLastKnown(): void {
    if (this.#known) this.#show(this.#known, '');
    this.#tellAway();
  }

  #tellAway(): void {
    this.element.classList.add('is-away');
    const isShown = this.#items.childElementCount > 0;
    fill(
      this.#note,
      `This database can’t be reached at the moment${isShown ? '; this is its last known content' : ''}.`,
    );
  }
}

/**
 * What can be kept, in the same order on both sides. Versions that say the same are one choice; those that differ only in whether the item is
 * packed say so.
 */
export function choicesOf(
  versions: readonly Version[],
): readonly { readonly label: string; readonly version: Version }[] {
  const different = new Map(versions.map((version) => [JSON.stringify([version.text, version.isPacked]), version]));
  const sorted = [...different].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, version]) => version);
  return sorted.map((version) => {
    const isAmbiguous = sorted.some((other) => other !== version && other.text === version.text);
    const state = version.isPacked ? 'packed' : 'not packed';
    return { label: isAmbiguous ? `${version.text}, ${state}` : version.text, version };
  });
}

/** Somebody types in it, and has not stored that yet. */
function isTypedIn(row: HTMLElement): boolean {
  const field = row.querySelector<HTMLInputElement>('input[type=text]');
  return field !== null && (field === document.activeElement || field.value !== field.defaultValue);
}

function removedId(item: Item | undefined): string {
  return item?.id ?? '';
}

function textOf({ text, isPacked, versions }: Item): string {
  return JSON.stringify([text, isPacked, versions.map(({ rev }) => rev)]);
}
