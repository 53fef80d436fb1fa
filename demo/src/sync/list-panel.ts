/** One of the two lists, in its own window. It shows every change of its database, including those that others make. */
import { coalesce } from '../elements/coalesce.ts';
import { button, fill, make } from '../elements/elements.ts';
import type { Connections } from '../following/connections.ts';
import { Feed } from '../following/feed.ts';
import type { Item, PackingList, Version } from './packing-list.ts';

export interface PanelOptions {
  readonly name: string;
  readonly title: string;
  readonly where: string;
  readonly list: PackingList;
  readonly connections: Connections;
}

export class ListPanel {
  readonly element: HTMLElement;
  readonly refresh = coalesce(() => this.#read().catch(() => this.#tellAway()));
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
  #shown: ReadonlyMap<string, string> | undefined;

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
      const text = this.#entry.value.trim();
      this.#entry.value = '';
      if (text !== '') void this.#change(() => list.add(text));
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
    this.#shown = undefined;
  }

  async #read(): Promise<void> {
    const items = await this.#list.items();
    fill(this.#note);
    this.element.classList.remove('is-away');
    const before = this.#shown;
    this.#shown = new Map(items.map((item) => [item.id, textOf(item)]));
    // If nothing changed, nothing is redrawn, so that the text being typed is not lost.
    const focused = this.#items.contains(document.activeElement) ? document.activeElement?.closest('li') : undefined;
    const kept = new Map([...this.#items.querySelectorAll('li')].map((row) => [row.dataset['id'], row]));
    const rows = items.map((item) => {
      const row = kept.get(item.id);
      if (row && (row === focused || before?.get(item.id) === textOf(item))) return row;
      const made = this.#row(item);
      if (before) made.classList.add('is-news');
      return made;
    });
    fill(this.#items, ...rows);
  }

  #row(item: Item): HTMLElement {
    const { id, text, isPacked, versions } = item;
    const attributes = { 'data-id': id, class: isPacked ? 'is-packed' : '' };
    if (versions.length > 1) return make('li', { ...attributes, class: 'is-torn' }, this.#choice(item));
    const save = (changed: string, packed: boolean) => this.#change(() => this.#list.save(item, changed, packed));
    const check = make('input', {
      type: 'checkbox',
      checked: isPacked,
      'aria-label': `Packed: ${text}`,
      change: () => void save(field.value, check.checked),
    });
    const field = make('input', {
      type: 'text',
      value: text,
      'aria-label': 'Item',
      change: () => {
        field.blur();
        void save(field.value, check.checked);
      },
    });
    const remove = button('×', () => void this.#change(() => this.#list.remove(item)), {
      class: 'icon-button remove',
      'aria-label': `Remove ${text}`,
    });
    return make('li', attributes, check, field, remove);
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

  /** Shows the present state after a change that was refused because someone else was quicker. */
  async #change(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
      await this.refresh();
    } catch {
      this.#tellAway();
    }
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

function textOf({ text, isPacked, versions }: Item): string {
  return JSON.stringify([text, isPacked, versions.map(({ rev }) => rev)]);
}
