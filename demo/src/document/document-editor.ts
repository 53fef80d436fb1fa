/** One document: its content, and its JSON for editing. Follows changes by other tabs. */

import type { Content, Database, StoredDocument } from '../data/database.ts';
import { type Dataset, placeOf } from '../data/datasets.ts';
import { button, type Child, fill, icon, icons, make } from '../elements/elements.ts';
import { WorldMap } from '../elements/world-map.ts';
import type { Change } from '../following/changes.ts';
import { type Conflict, conflictPanel, contentOf } from './conflict-panel.ts';
import { neighbours } from './neighbours.ts';
import { PhotoFrame } from './photo-frame.ts';

export interface EditorHost {
  /** The address of the list. */
  readonly listHash: string;
  /** Whether the database has any documents. */
  isLoaded(): boolean;
}

export class DocumentEditor {
  readonly element = make('article', { class: 'document', tabindex: '-1' });
  readonly #id: string;
  readonly #dataset: Dataset;
  readonly #database: Database;
  readonly #host: EditorHost;
  readonly #map = new WorldMap('Where it is');
  readonly #photo: PhotoFrame;
  readonly #head = make('header', {});
  readonly #facts = make('dl', { class: 'facts' });
  readonly #editor: HTMLTextAreaElement;
  readonly #message = make('p', { class: 'message', role: 'status' });
  readonly #conflictPlace = make('div', {});
  readonly #buttons: readonly HTMLButtonElement[];
  /** What the editor's text is based on. */
  #document: StoredDocument | undefined;

  constructor(id: string, dataset: Dataset, database: Database, host: EditorHost) {
    this.#id = id;
    this.#dataset = dataset;
    this.#database = database;
    this.#host = host;
    this.#photo = new PhotoFrame(database, {
      // What is shown afterwards is the document with the photo.
      whyNot: () =>
        this.isEdited ? 'Save or undo your changes of the text first, then the photo can change.' : undefined,
      onChanged: () => void this.#onPhotoChanged(),
      onFailed: (reason) => this.#say(reason, 'error'),
    });
    this.#editor = make('textarea', {
      id: 'editor',
      spellcheck: 'false',
      autocapitalize: 'off',
      autocomplete: 'off',
      rows: '14',
      'aria-describedby': 'editor-hint',
      input: () => this.#onEdited(),
      keydown: (event) => this.#onKey(event),
    });
    this.#buttons = [
      button('Save', () => void this.save(), { class: 'primary', 'data-action': 'save' }),
      button('Undo my changes', () => void this.#revert(), { 'data-action': 'revert' }),
      button('Delete', () => void this.#remove(), { class: 'danger', 'data-action': 'delete' }),
    ];
    fill(this.element, make('p', { class: 'loading' }, 'Reading …'));
  }

  async open(): Promise<void> {
    try {
      const document = await this.#database.get(this.#id);
      if (!document) return this.#renderMissing();
      this.#renderFrame();
      this.#take(document);
    } catch (error) {
      const again = button('Try again', () => void this.open());
      fill(this.element, this.#backLink(), make('p', {}, `The document could not be read: ${messageOf(error)}`), again);
    }
  }

  /** Reads what was not followed. Rejects if it could not be read; the next change is followed anyway. */
  async catchUp(): Promise<void> {
    const known = this.#document;
    const current = await this.#current();
    if (this.#document === known && current?._rev !== known?._rev) this.#show(current);
  }

  /** Another tab changed or deleted the document. */
  follow({ rev, document }: Change): void {
    // What was read meanwhile may be later than the reported change.
    const known = this.#document?._rev;
    if (known === undefined || (rev !== known && generationOf(rev) >= generationOf(known))) this.#show(document);
  }

  /** The database is gone, with all its content. */
  end(): void {
    if (this.#document) this.#show(undefined);
  }

  /** Shows the changed document; during an edit only says that it changed. */
  #show(current: StoredDocument | undefined): void {
    if (!this.#document) {
      if (current) void this.open();
    } else if (this.isEdited) {
      this.#say(
        current ? 'Another tab has changed this document in the meantime.' : 'Another tab has deleted this document.',
        'warn',
      );
    } else if (current) {
      this.#take(current);
      this.#say('Another tab has changed this document just now.', 'news');
    } else this.#renderMissing();
  }

  async save(): Promise<void> {
    const content = this.#parse();
    const base = this.#document;
    if (content && base) await this.#put(base._rev, content);
  }

  async #onPhotoChanged(): Promise<void> {
    this.#take(await this.#current());
    this.#say('Saved.', 'news');
  }

  /** Shows what is in the database now, which another tab may have changed since. */
  async #revert(): Promise<void> {
    this.#take(this.#document);
    await this.catchUp().catch((error) => this.#say(`The document could not be read: ${messageOf(error)}`, 'error'));
  }

  get isEdited(): boolean {
    return this.#document !== undefined && this.#editor.value !== textOf(this.#document);
  }

  async #put(rev: string | undefined, content: Content): Promise<void> {
    const base = this.#document;
    if (!base) return;
    try {
      const written = await this.#database.put(this.#id, rev, content);
      if (written === undefined) return this.#showConflict({ base, mine: content, theirs: await this.#current() });
      this.#take({ _id: this.#id, _rev: written, ...content });
      this.#say('Saved.', 'news');
    } catch (error) {
      this.#say(`Not saved: ${messageOf(error)}`, 'error');
    }
  }

  async #remove(): Promise<void> {
    const base = this.#document;
    if (!base) return;
    try {
      // With its files, which can't be read any more once it is deleted, so that it can be brought back.
      const whole = base._attachments === undefined ? base : await this.#database.getWhole(this.#id, base._rev);
      if (await this.#database.remove(this.#id, base._rev)) {
        this.#renderMissing(whole);
        this.element.focus();
      } else this.#showConflict({ base, mine: contentOf(base), theirs: await this.#current() });
    } catch (error) {
      this.#say(`Not deleted: ${messageOf(error)}`, 'error');
    }
  }

  #current(): Promise<StoredDocument | undefined> {
    return this.#database.get(this.#id, 'quiet');
  }

  #showConflict(conflict: Conflict): void {
    const { theirs } = conflict;
    this.#say('');
    const takeTheirs = () => (theirs ? this.#take(theirs) : this.#renderMissing());
    const panel = conflictPanel(conflict, { takeTheirs, save: (content) => void this.#put(theirs?._rev, content) });
    fill(this.#conflictPlace, panel);
    panel.scrollIntoView({ block: 'nearest', behavior: 'smooth' });
  }

  /** Shows this state as the basis of further edits. */
  #take(document: StoredDocument | undefined): void {
    if (!document) return;
    this.#document = document;
    const { title, subtitle, facts, neighbours: codes } = this.#dataset.describe(document);
    fill(this.#head, ...this.#headOf(title, subtitle, document._rev));
    fill(
      this.#facts,
      ...facts.map(([label, value, href]) =>
        make('div', {}, make('dt', {}, label), make('dd', {}, href === undefined ? value : make('a', { href }, value))),
      ),
      codes.length > 0 &&
        make('div', { class: 'wide' }, make('dt', {}, 'Neighbours'), neighbours(this.#database, codes)),
    );
    const place = placeOf(document);
    this.#map.element.hidden = place === undefined;
    this.#map.mark(place);
    this.#photo.show(document);
    this.#editor.value = textOf(document);
    fill(this.#conflictPlace);
    this.#say('');
    this.#onEdited();
  }

  #headOf(title: string, subtitle: string, rev: string): readonly Node[] {
    const [generation = '', hash = ''] = rev.split('-');
    return [
      make('h1', {}, title),
      make('p', { class: 'subtitle' }, subtitle),
      make(
        'p',
        { class: 'marks' },
        make('code', { title: 'The document’s id' }, this.#id),
        make('code', { title: `Revision ${rev}` }, `revision ${generation}-${hash.slice(0, 7)}`),
      ),
    ];
  }

  #renderFrame(): void {
    const hint =
      'Every save names the revision it is based on. If another tab saved first, you decide what becomes of both.';
    fill(
      this.element,
      this.#backLink(),
      this.#head,
      this.#map.element,
      this.#facts,
      this.#photo.element,
      make(
        'section',
        { class: 'editing' },
        make('div', { class: 'editing-head' }, make('label', { for: 'editor' }, 'Document'), this.#message),
        this.#editor,
        this.#conflictPlace,
        make('div', { class: 'actions' }, ...this.#buttons),
        make('p', { class: 'hint', id: 'editor-hint' }, hint),
      ),
    );
  }

  /** `deleted` is what this page has just deleted. */
  #renderMissing(deleted?: StoredDocument): void {
    this.#document = undefined;
    const id = make('code', {}, this.#id);
    const what = this.#whyMissing(deleted !== undefined, id);
    const restore = button('Bring it back', () => void this.#restore(deleted), { 'data-action': 'restore' });
    fill(this.#message);
    fill(
      this.element,
      this.#backLink(),
      make('h1', {}, deleted ? 'Deleted' : 'Nothing here'),
      make('p', { class: 'subtitle' }, ...what),
      deleted && make('div', { class: 'actions' }, restore),
      this.#message,
    );
  }

  #whyMissing(isDeleted: boolean, id: HTMLElement): readonly Child[] {
    if (isDeleted) return ['The document ', id, ' is gone, in every tab.'];
    if (this.#host.isLoaded()) return ['There is no document ', id, ', or it was deleted.'];
    const { name, title, plural } = this.#dataset;
    const list = make('a', { href: `#/${name}` }, title);
    return ['There is no document ', id, `, because the ${plural} are not loaded yet: the page `, list, ' does that.'];
  }

  /** Without a revision: a deleted document may be written again. */
  async #restore(deleted: StoredDocument | undefined): Promise<void> {
    if (!deleted) return;
    try {
      await this.#database.put(this.#id, undefined, contentOf(deleted));
      await this.open();
    } catch (error) {
      this.#say(`Not brought back: ${messageOf(error)}`, 'error');
    }
  }

  #backLink(): HTMLElement {
    return make('a', { class: 'back', href: this.#host.listHash }, icon(icons.back), this.#dataset.title);
  }

  #parse(): Content | undefined {
    try {
      const value: unknown = JSON.parse(this.#editor.value);
      if (isObject(value)) return value;
      this.#say('A document is a JSON object, in curly brackets.', 'error');
    } catch (error) {
      this.#say(`This is not JSON: ${messageOf(error)}`, 'error');
    }
    return undefined;
  }

  #onEdited(): void {
    const [save, revert] = this.#buttons;
    const isEdited = this.isEdited;
    for (const control of [save, revert]) if (control) control.disabled = !isEdited;
  }

  #onKey(event: Event): void {
    if (!(event instanceof KeyboardEvent) || event.key !== 's' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void this.save();
  }

  #say(text: string, tone = ''): void {
    this.#message.dataset['tone'] = tone;
    fill(this.#message, text);
  }
}

function generationOf(rev: string): number {
  return Number.parseInt(rev, 10);
}

function textOf(document: StoredDocument): string {
  return JSON.stringify(contentOf(document), null, 2);
}

function isObject(value: unknown): value is Content {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
