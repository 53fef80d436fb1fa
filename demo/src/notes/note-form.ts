/** The fields of a note, for a new one and for one that exists. */
import { button, fill, icon, make } from '../elements/elements.ts';
import { asPlace, formatPlace, kinds, kindTitle, localTime, type Note, type Place, parseTags } from './note.ts';
import type { PhotoChange } from './note-store.ts';
import { drawPhoto, photosFromFile } from './photo.ts';

export interface FormOptions {
  /** What names this form among others: its fields have ids. */
  readonly name: string;
  readonly submitLabel: string;
  readonly onSubmit: (note: Omit<Note, 'by'>, photos: PhotoChange) => void;
  /** The place has changed. */
  readonly onPlace: (place: Place | undefined) => void;
  readonly onTrouble: (reason: string) => void;
  /** Buttons beside the one that submits. */
  readonly others?: readonly HTMLElement[];
  /** Below all of it. */
  readonly foot?: HTMLElement;
}

const CAMERA =
  'M4 8.5h3l1.6-2.5h6.8L17 8.5h3a1 1 0 0 1 1 1V18a1 1 0 0 1-1 1H4a1 1 0 0 1-1-1V9.5a1 1 0 0 1 1-1zM12 10.2a3.3 3.3 0 1 0 0 6.6 3.3 3.3 0 0 0 0-6.6z';
const PIN =
  'M12 21s-6.5-5.6-6.5-11a6.5 6.5 0 0 1 13 0c0 5.4-6.5 11-6.5 11zM12 7.7a2.3 2.3 0 1 0 0 4.6 2.3 2.3 0 0 0 0-4.6z';

export class NoteForm {
  readonly element: HTMLFormElement;
  readonly #options: FormOptions;
  readonly #text: HTMLTextAreaElement;
  readonly #kind: HTMLSelectElement;
  readonly #tags: HTMLInputElement;
  readonly #time: HTMLInputElement;
  readonly #latitude: HTMLInputElement;
  readonly #longitude: HTMLInputElement;
  readonly #details: HTMLDetailsElement;
  readonly #summary = make('span', {});
  readonly #preview = make('span', { class: 'form-preview', hidden: true });
  readonly #submit: HTMLButtonElement;
  #photos: PhotoChange = 'keep';
  /** A photo is being made smaller. */
  #isBusy = false;

  constructor(options: FormOptions) {
    this.#options = options;
    const { name, submitLabel, others = [], foot } = options;
    this.#text = make('textarea', {
      id: `${name}-text`,
      rows: '2',
      placeholder: 'What do you see?',
      'aria-label': 'Text of the note',
      required: true,
      keydown: (event) => this.#onKey(event),
      paste: (event) => event instanceof ClipboardEvent && this.#take(event.clipboardData, event),
    });
    // A new note has what was chosen for it, and nothing else.
    const choices = ['', ...kinds.map((kind) => kind.name)].map((kind) =>
      make('option', { value: kind }, kindTitle(kind)),
    );
    this.#kind = make('select', { id: `${name}-kind`, 'aria-label': 'Kind' }, ...choices);
    this.#tags = make('input', { id: `${name}-tags`, type: 'text', placeholder: 'river, birds', autocomplete: 'off' });
    this.#time = make('input', { id: `${name}-time`, type: 'datetime-local' });
    this.#latitude = this.#degrees('latitude', 90);
    this.#longitude = this.#degrees('longitude', 180);
    this.#details = this.#makeDetails(name);
    this.#submit = make('button', { type: 'submit', class: 'primary', 'data-action': `${name}-submit` }, submitLabel);
    this.element = make(
      'form',
      {
        class: 'note-form',
        // Some browsers fill in after a reload what was there before.
        autocomplete: 'off',
        submit: (event) => this.#onSubmit(event),
        dragover: (event) => event.preventDefault(),
        drop: (event) => event instanceof DragEvent && this.#take(event.dataTransfer, event),
      },
      make('div', { class: 'form-text' }, this.#text, this.#preview),
      this.#details,
      make('div', { class: 'form-controls' }, ...this.#photoButtons(), this.#kind, ...others, this.#submit),
      foot,
    );
    this.#summarize();
  }

  /** Undefined: an empty form, whose time is that of its submission. */
  show(note: Note | undefined, hasPhoto = false): void {
    this.#text.value = note?.text ?? '';
    if (note && ![...this.#kind.options].some(({ value }) => value === note.kind)) {
      this.#kind.append(make('option', { value: note.kind }, note.kind));
    }
    this.#kind.value = note?.kind ?? '';
    this.#tags.value = note?.tags.join(', ') ?? '';
    this.#time.value = note?.time ?? '';
    this.#photos = 'keep';
    this.#setPlace(note?.place);
    fill(this.#preview, hasPhoto && this.#removeButton());
    this.#preview.hidden = !hasPhoto;
    if (note) this.#details.open = true;
  }

  get place(): Place | undefined {
    const [latitude, longitude] = [this.#latitude, this.#longitude].map(({ value }) => value.trim());
    return latitude === '' || longitude === '' ? undefined : asPlace([Number(latitude), Number(longitude)]);
  }

  /** As by a click on the map. */
  set place(place: Place | undefined) {
    this.#setPlace(place);
    this.#options.onPlace(this.place);
  }

  get hasText(): boolean {
    return this.#text.value.trim() !== '';
  }

  focus(): void {
    this.#text.focus();
  }

  #setPlace(place: Place | undefined): void {
    this.#latitude.value = place ? place[0].toFixed(2) : '';
    this.#longitude.value = place ? place[1].toFixed(2) : '';
    this.#summarize();
  }

  #makeDetails(name: string): HTMLDetailsElement {
    const field = (label: string, control: HTMLElement) =>
      make('label', { class: 'form-field', for: control.id }, make('span', {}, label), control);
    const here = button('My position', () => this.#locate(), { 'data-action': `${name}-locate` });
    return make(
      'details',
      { class: 'form-more', input: () => this.#summarize() },
      make('summary', {}, icon(PIN), this.#summary),
      make(
        'div',
        { class: 'form-fields' },
        field('Latitude', this.#latitude),
        field('Longitude', this.#longitude),
        here,
        field('Tags', this.#tags),
        field('Time', this.#time),
      ),
    );
  }

  #degrees(label: string, limit: number): HTMLInputElement {
    return make('input', {
      id: `${this.#options.name}-${label}`,
      type: 'number',
      min: String(-limit),
      max: String(limit),
      step: 'any',
      inputmode: 'text',
      input: () => this.#options.onPlace(this.place),
    });
  }

  #photoButtons(): readonly HTMLElement[] {
    const input = (attributes: { readonly capture?: string }) => {
      const element = make('input', {
        type: 'file',
        accept: 'image/*',
        hidden: true,
        'aria-label': 'Photo',
        ...attributes,
        change: () => {
          const [file] = element.files ?? [];
          // Allows the same file to be chosen again.
          if (file) void this.#usePhoto(file).finally(() => (element.value = ''));
        },
      });
      return element;
    };
    const [file, camera] = [input({}), input({ capture: 'environment' })];
    const choose = button('', () => file.click(), { class: 'with-icon', 'data-action': `${this.#options.name}-photo` });
    choose.append(icon(CAMERA), 'Photo');
    // Desktops have no camera application to open.
    const take = button('Camera', () => camera.click(), { class: 'only-touch' });
    return [choose, take, file, camera];
  }

  /** A picture that is dropped or pasted. */
  #take(data: DataTransfer | null, event: Event): void {
    const file = [...(data?.files ?? [])].find(({ type }) => type.startsWith('image/'));
    if (!file) return;
    event.preventDefault();
    void this.#usePhoto(file);
  }

  async #usePhoto(file: File): Promise<void> {
    this.#isBusy = true;
    this.#submit.disabled = true;
    try {
      const photos = await photosFromFile(file);
      this.#photos = photos;
      const canvas = make('canvas', { role: 'img', 'aria-label': `The chosen photo: ${file.name}` });
      await drawPhoto(canvas, photos.thumbnail);
      fill(this.#preview, canvas, this.#removeButton());
      this.#preview.hidden = false;
    } catch (error) {
      this.#options.onTrouble(error instanceof Error ? error.message : String(error));
    } finally {
      this.#isBusy = false;
      this.#submit.disabled = false;
    }
  }

  #removeButton(): HTMLButtonElement {
    const remove = () => {
      this.#photos = 'remove';
      this.#preview.hidden = true;
      this.#text.focus();
    };
    return button('Remove photo', remove, { class: 'quiet' });
  }

  #locate(): void {
    this.#summary.textContent = 'Asking for the position …';
    navigator.geolocation.getCurrentPosition(
      ({ coords }) => {
        this.place = [coords.latitude, coords.longitude];
      },
      ({ message, code, PERMISSION_DENIED }) => {
        this.#summarize();
        const reason =
          code === PERMISSION_DENIED ? 'This browser may not tell the position' : `No position: ${message}`;
        this.#options.onTrouble(`${reason}. A click on the map sets a place, too.`);
      },
      { timeout: 15_000 },
    );
  }

  #summarize(): void {
    const { place } = this;
    const tags = parseTags(this.#tags.value);
    const parts = [place ? formatPlace(place) : 'Place: click the map', ...tags.map((tag) => `#${tag}`)];
    this.#summary.textContent = parts.join(' · ');
  }

  #onKey(event: Event): void {
    if (!(event instanceof KeyboardEvent) || event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.element.requestSubmit();
  }

  #onSubmit(event: Event): void {
    event.preventDefault();
    if (this.#isBusy || !this.hasText) return;
    this.#options.onSubmit(
      {
        text: this.#text.value.trim(),
        kind: this.#kind.value,
        tags: parseTags(this.#tags.value),
        place: this.place,
        time: this.#time.value || localTime(new Date()),
      },
      this.#photos,
    );
  }
}
