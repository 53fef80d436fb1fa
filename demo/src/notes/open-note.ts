/** A note in place of the list: its photo and its fields, to be changed or deleted. */
import type { Content } from '../data/database.ts';
import { button, fill, icon, icons, make } from '../elements/elements.ts';
import type { Device } from './devices.ts';
import type { ViewRow } from './live-rows.ts';
import { type Note, PHOTO, type Place, titleOf } from './note.ts';
import { NoteForm } from './note-form.ts';
import type { NoteStore, PhotoChange } from './note-store.ts';
import { quoted } from './sentences.ts';
import type { Version } from './versions.ts';

export interface OpenNoteHost {
  /** Does the work, and tells what was done, unless the work returns false or undefined: then nothing was. */
  act<Result>(did: string, work: () => Promise<Result>): Promise<Result>;
  onOpened(id: string): void;
  onClosed(id: string): void;
  onPlace(place: Place | undefined): void;
  /** It is closed. `whole`: what brings it back. */
  onDeleted(note: DeletedNote): void;
}

export interface DeletedNote {
  readonly id: string;
  readonly title: string;
  readonly whole: Content;
}

/** `version`: as it was when it was opened. */
interface Opened {
  readonly id: string;
  readonly version: Version;
  readonly form: NoteForm;
}

export class OpenNote {
  readonly element = make('div', { class: 'note-open', hidden: true });
  readonly #device: Device;
  readonly #store: NoteStore;
  readonly #host: OpenNoteHost;
  readonly #message = make('p', { class: 'note-message', role: 'status' });
  #opened: Opened | undefined;

  constructor(device: Device, store: NoteStore, host: OpenNoteHost) {
    this.#device = device;
    this.#store = store;
    this.#host = host;
  }

  /** The form, while a note is open. */
  get form(): NoteForm | undefined {
    return this.#opened?.form;
  }

  async open(id: string): Promise<void> {
    const version = await this.#store.get(id);
    if (version) this.#show(id, version);
    else this.close();
  }

  close(): void {
    const id = this.#opened?.id;
    if (id === undefined) return;
    this.#opened = undefined;
    this.element.hidden = true;
    fill(this.element);
    this.#host.onClosed(id);
  }

  /** Says something about the open note. */
  say(text: string): void {
    fill(this.#message, text);
  }

  /** What has changed on this device, perhaps by its replications. */
  follow(changed: readonly ViewRow[], gone: readonly ViewRow[]): void {
    const opened = this.#opened;
    if (!opened) return;
    if (gone.some(({ id }) => id === opened.id)) fill(this.#message, 'This note has been deleted meanwhile.');
    const news = changed.find(({ id }) => id === opened.id);
    if (!news || news.value.rev === opened.version.rev) return;
    const read = button('Show the new version', () => this.#try(() => this.open(opened.id)), { class: 'quiet' });
    fill(this.#message, 'This note has changed meanwhile. ', read);
  }

  #show(id: string, version: Version): void {
    const { note, files, rev } = version;
    const form = new NoteForm({
      name: `${this.#device.name}-open`,
      submitLabel: 'Save',
      onSubmit: (changed, photos) => this.#try(() => this.#save({ ...changed, by: this.#device.title }, photos)),
      onPlace: (place) => this.#host.onPlace(place),
      onTrouble: (reason) => fill(this.#message, reason),
      others: [
        button('Delete', () => this.#try(() => this.#remove()), { class: 'danger', 'data-action': 'delete-note' }),
      ],
    });
    form.show(note, files[PHOTO] !== undefined);
    this.#opened = { id, version, form };
    const back = button('', () => this.close(), {
      class: 'icon-button',
      'aria-label': 'Back to the list',
      'data-action': 'close-note',
    });
    back.append(icon(icons.back));
    const address = this.#store.photoAddress(id, rev, PHOTO);
    fill(this.#message);
    fill(
      this.element,
      make(
        'div',
        { class: 'note-open-head' },
        back,
        make('h3', {}, titleOf(note.text)),
        make('code', { title: `Revision ${rev}` }, rev.slice(0, 8)),
      ),
      files[PHOTO] !== undefined &&
        make('img', { class: 'note-photo', src: address, alt: `Photo: ${titleOf(note.text)}` }),
      form.element,
      this.#message,
    );
    this.element.hidden = false;
    this.#host.onOpened(id);
    form.focus();
  }

  async #save(note: Note, photos: PhotoChange): Promise<void> {
    const opened = this.#opened;
    if (!opened) return;
    const rev = await this.#host.act(saved(note), () => this.#store.save(opened.id, opened.version, note, photos));
    if (rev !== undefined) return this.close();
    const over = button('Save mine over it', () => this.#try(() => this.#saveOver(opened.id, note, photos)));
    const take = button('Take theirs', () => this.#try(() => this.open(opened.id)));
    fill(this.#message, 'Another change was quicker, and yours is not stored yet. ', over, ' ', take);
  }

  /** On top of what is stored now. A photo that was kept stays that of the present version. */
  async #saveOver(id: string, note: Note, photos: PhotoChange): Promise<void> {
    const current = await this.#store.get(id);
    if (!current) throw new Error('It has been deleted meanwhile.');
    const rev = await this.#host.act(saved(note), () => this.#store.save(id, current, note, photos));
    if (rev !== undefined) this.close();
  }

  async #remove(): Promise<void> {
    const opened = this.#opened;
    if (!opened) return;
    const { id, version } = opened;
    const title = titleOf(version.note.text);
    // With its photo, which can't be read any more once the note is deleted.
    const whole = await this.#store.whole(id, version.rev);
    const isDone = await this.#host.act(`deleted ${quoted(title)}`, () => this.#store.remove(id, version.rev));
    if (isDone) {
      this.close();
      this.#host.onDeleted({ id, title, whole });
    } else fill(this.#message, 'It has changed meanwhile, and was not deleted. Open it again to see how.');
  }

  #try(work: () => Promise<void>): void {
    work().catch((error) => fill(this.#message, error instanceof Error ? error.message : String(error)));
  }
}

function saved(note: Note): string {
  return `changed ${quoted(titleOf(note.text))}`;
}
