/** The picture of a document: an attachment, which the page shows by its address. A photo that is dropped here becomes one. */
import type { Attachment, Database, StoredDocument } from '../data/database.ts';
import { button, fill, make } from '../elements/elements.ts';

export interface PhotoHost {
  /** Why the document must not change now; undefined: it may. */
  whyNot(): string | undefined;
  /** The document has another revision now. */
  onChanged(): void;
  onFailed(reason: string): void;
}

export class PhotoFrame {
  readonly element = make('section', {
    class: 'photo',
    'aria-label': 'Photo',
    dragover: (event) => this.#onDrag(event, true),
    dragleave: (event) => this.#onDrag(event, false),
    drop: (event) => this.#onDrop(event),
  });
  readonly #database: Database;
  readonly #host: PhotoHost;
  readonly #input = make('input', { type: 'file', accept: 'image/*', hidden: true, change: () => this.#onChosen() });
  #document: StoredDocument | undefined;
  /** It was chosen here just now: the user who chose it wants to see it, and the frame grows with it. */
  #isAwaited = false;

  constructor(database: Database, host: PhotoHost) {
    this.#database = database;
    this.#host = host;
  }

  show(document: StoredDocument): void {
    this.#document = document;
    const name = photoOf(document);
    const choose = (label: string) => button(label, () => this.#input.click());
    if (name === undefined) {
      const hint = 'Drop a photo here. It is stored in this browser, and shown without a network.';
      fill(this.element, make('p', {}, hint), choose('Choose a photo'), this.#input);
      return;
    }
    const address = this.#database.attachmentAddress(document._id, name, document._rev);
    const remove = button('Remove', () => void this.#remove(name), { class: 'danger', 'data-action': 'remove-photo' });
    const image = make('img', { src: address, alt: name, load: () => this.#bringToSight() });
    const caption = make('figcaption', {}, make('span', {}, name), choose('Replace'), remove);
    fill(this.element, make('figure', {}, image, caption), this.#input);
  }

  #bringToSight(): void {
    if (this.#isAwaited) this.element.scrollIntoView({ block: 'nearest' });
    this.#isAwaited = false;
  }

  #onChosen(): void {
    const [file] = this.#input.files ?? [];
    if (file !== undefined) void this.#store(file);
  }

  #onDrag(event: Event, isOver: boolean): void {
    event.preventDefault();
    this.element.classList.toggle('is-target', isOver);
  }

  #onDrop(event: Event): void {
    this.#onDrag(event, false);
    const files = event instanceof DragEvent ? [...(event.dataTransfer?.files ?? [])] : [];
    const file = files.find(({ type }) => type.startsWith('image/'));
    if (file !== undefined) void this.#store(file);
    else this.#host.onFailed('That file is not a picture.');
  }

  async #store(file: File): Promise<void> {
    const document = this.#document;
    if (document === undefined) return;
    const former = photoOf(document);
    this.#isAwaited = true;
    await this.#change(async () => {
      const rev = await this.#database.attach(document._id, document._rev, file);
      // One photo per document.
      if (rev === undefined || former === undefined || former === file.name) return rev;
      return this.#database.detach(document._id, rev, former);
    });
  }

  async #remove(name: string): Promise<void> {
    const document = this.#document;
    if (document !== undefined) await this.#change(() => this.#database.detach(document._id, document._rev, name));
  }

  async #change(change: () => Promise<string | undefined>): Promise<void> {
    const reason = this.#host.whyNot();
    if (reason !== undefined) return this.#host.onFailed(reason);
    try {
      const rev = await change();
      if (rev === undefined) this.#host.onFailed('Another tab has changed this document in the meantime. Try again.');
      else this.#host.onChanged();
    } catch (error) {
      this.#host.onFailed(error instanceof Error ? error.message : String(error));
    }
  }
}

/** The name of the attachment that is a picture. */
function photoOf({ _attachments: attachments = {} }: StoredDocument): string | undefined {
  const isPicture = ([, { content_type }]: [string, Attachment]) => content_type.startsWith('image/');
  return Object.entries(attachments).find(isPicture)?.[0];
}
