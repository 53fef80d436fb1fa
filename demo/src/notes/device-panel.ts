/** One of the two devices: its notes as form, map, sums and list, all of which follow its database. */
import { ConflictPlace } from '../conflicts/conflict-place.ts';
import { button, fill, make } from '../elements/elements.ts';
import type { Connections } from '../following/connections.ts';
import { Feed } from '../following/feed.ts';
import type { Device } from './devices.ts';
import type { DayRow, SumRow } from './figures.ts';
import type { LinkState } from './links.ts';
import {
  applyEvent,
  type Difference,
  difference,
  healed,
  inOrder,
  type Rows,
  type ViewEvent,
  type ViewRow,
} from './live-rows.ts';
import { asPlace, type Note, type Place, titleOf } from './note.ts';
import { NoteForm } from './note-form.ts';
import { NoteList } from './note-list.ts';
import { NoteMap } from './note-map.ts';
import type { NoteStore, PhotoChange } from './note-store.ts';
import { type DeletedNote, OpenNote } from './open-note.ts';
import { quoted, sentence } from './sentences.ts';
import { Sums } from './sums.ts';
import type { Resolution } from './versions.ts';

export interface DevicePanelOptions {
  readonly device: Device;
  readonly store: NoteStore;
  readonly connections: Connections;
  readonly tell: (sentence: string) => void;
  readonly onSwitch: (isOnline: boolean) => void;
  /** An event of a feed, for the log. */
  readonly onEvent: (path: string, told: string) => void;
  /** What came from elsewhere. */
  readonly onNews: (news: News) => void;
}

export interface News extends Difference {
  /** Notes whose conflict has been resolved on another device. */
  readonly healed: readonly ViewRow[];
}

export class DevicePanel {
  readonly element: HTMLElement;
  readonly store: NoteStore;
  readonly #options: DevicePanelOptions;
  readonly #feeds: readonly Feed<never>[];
  readonly #switch: HTMLButtonElement;
  readonly #state = make('p', { class: 'device-state', role: 'status' });
  readonly #trouble = make('p', { class: 'failure', role: 'alert' });
  readonly #conflicts: ConflictPlace;
  readonly #shared = make(
    'p',
    { class: 'hint shared', hidden: true },
    'Everybody who uses the server sees what you store.',
  );
  readonly #composer: NoteForm;
  readonly #map: NoteMap;
  readonly #sums: Sums;
  readonly #list: NoteList;
  readonly #open: OpenNote;
  #rows: Rows | undefined;
  #isOnline = true;

  constructor(options: DevicePanelOptions) {
    const { device, store, connections } = options;
    this.#options = options;
    this.store = store;
    this.#switch = button('', () => options.onSwitch(!this.#isOnline), {
      class: 'device-switch',
      role: 'switch',
      'aria-checked': 'true',
    });
    this.#composer = new NoteForm({
      name: device.name,
      submitLabel: 'Store',
      onSubmit: (note, photos) => void this.#store(note, photos),
      onPlace: (place) => this.#drafted(place),
      onTrouble: (reason) => this.#fail(reason),
      foot: this.#shared,
    });
    this.#composer.show(undefined);
    this.#conflicts = new ConflictPlace({
      name: device.name,
      title: device.title,
      store,
      onResolve: (id, resolution, how) => void this.#resolve(id, resolution, how),
      onFailed: (error) => this.#fail(error),
      onEnd: (id) => this.#list.focus(id),
    });
    this.#map = new NoteMap(`The notes of the ${device.name} on a map of the world`, {
      onPlace: (place) => this.#place(place),
      onChoose: (ids) => this.#choose(ids),
    });
    this.#list = new NoteList(device, store, {
      onOpen: (id) => this.#show(id),
      onFailed: (error) => this.#fail(error),
    });
    this.#sums = new Sums(device.title);
    this.#open = new OpenNote(device, store, {
      act: (did, work) => this.act(did, work),
      onOpened: (id) => this.#onOpened(id),
      onClosed: (id) => this.#onOpened(undefined, id),
      onPlace: (place) => this.#drafted(place),
      onDeleted: (note) => this.#offerUndo(note),
    });
    this.#feeds = this.#makeFeeds(connections);
    this.element = this.#layOut();
  }

  start(): void {
    for (const feed of this.#feeds) feed.open();
  }

  stop(): void {
    for (const feed of this.#feeds) feed.close();
    this.#rows = undefined;
  }

  /** The latest first. */
  get rows(): readonly ViewRow[] {
    return this.#rows ? inOrder(this.#rows) : [];
  }

  get isOnline(): boolean {
    return this.#isOnline;
  }

  showLink(state: LinkState): void {
    this.#isOnline = state.isOnline;
    this.element.dataset['state'] = state.state;
    this.#switch.setAttribute('aria-checked', String(state.isOnline));
    const shown = state.isOnline ? 'Connected' : 'Disconnected';
    this.#switch.setAttribute('aria-label', `${this.#options.device.title}: ${shown}`);
    if (this.#switch.textContent !== shown) fill(this.#switch, make('span', { class: 'knob' }), shown);
    this.#shared.hidden = !(state.isOnline && state.way === 'server');
    const told = describe(state, this.#options.device.name === 'phone' ? 'laptop' : 'phone');
    // Said again, it would be read again.
    if (this.#state.textContent !== told) fill(this.#state, told);
  }

  /** Does the work, and tells what was done and with which requests, unless the work returns false or undefined: then nothing was. */
  async act<Result>(did: string, work: () => Promise<Result>): Promise<Result> {
    fill(this.#trouble);
    const { result, requests } = await this.store.counting(work);
    const isDone = result !== false && result !== undefined;
    if (isDone) this.#options.tell(sentence(this.#options.device.title, did, requests, this.#isOnline));
    return result;
  }

  #layOut(): HTMLElement {
    const { name, title, database } = this.#options.device;
    const head = make(
      'header',
      { class: 'device-head' },
      make('h2', {}, title),
      make('code', {}, `/db/${database}`),
      this.#switch,
    );
    const body = make('div', { class: 'device-list' }, this.#list.element, this.#open.element);
    return make(
      'section',
      { class: 'device', 'data-device': name, 'aria-label': title },
      head,
      this.#state,
      this.#trouble,
      this.#conflicts.element,
      this.#composer.element,
      this.#map.element,
      this.#sums.element,
      body,
    );
  }

  #makeFeeds(connections: Connections): readonly Feed<never>[] {
    const { store } = this;
    const prepare = () => store.prepare();
    const notes = new Feed<ViewEvent>(() => store.liveAddress('notes'), connections, {
      prepare,
      onEvent: (event) => this.#follow(event),
    });
    const sums = new Feed<{ rows: readonly SumRow[] }>(() => store.liveAddress('sums'), connections, {
      prepare,
      onEvent: ({ rows }) => this.#sums.showKinds(rows),
    });
    const days = new Feed<{ rows: readonly DayRow[] }>(() => store.liveAddress('days'), connections, {
      prepare,
      onEvent: ({ rows }) => this.#sums.showDays(rows),
    });
    return [notes, sums, days];
  }

  #follow(event: ViewEvent): void {
    const before = this.#rows;
    const after = applyEvent(before ?? new Map(), event);
    this.#rows = after;
    const rows = inOrder(after);
    this.#list.show(rows);
    this.#map.show(rows.flatMap(({ id, value }) => toPin(id, value)));
    this.#conflicts.follow(rows);
    if (!before) return;
    const { arrived, changed, gone } = difference(before, after);
    const counts = { added: arrived.length, changed: changed.length, removed: gone.length };
    const told = Object.entries(counts).flatMap(([what, count]) => (count === 0 ? [] : [`${count} ${what}`]));
    if (told.length > 0) this.#options.onEvent(this.store.viewPath('notes'), told.join(', '));
    for (const { value } of [...arrived, ...changed]) this.#map.pulse(asPlace(value.latlng));
    const isTorn = ({ id, value }: ViewRow) => value.conflicts > (before.get(id)?.value.conflicts ?? 0);
    const isForeign = (row: ViewRow) => isTorn(row) || !this.store.hasWritten(row.value.rev);
    this.#options.onNews({
      arrived: arrived.filter(isForeign),
      changed: changed.filter(isForeign),
      gone: gone.filter(({ id }) => !this.store.hasDeleted(id)),
      healed: healed(before, after).filter(isForeign),
    });
    this.#open.follow(changed, gone);
  }

  async #resolve(id: string, resolution: Resolution, how: string): Promise<void> {
    await this.#try(async () => {
      const did = `${how} of ${quoted(titleOf(resolution.note.text))}`;
      const isDone = await this.act(did, () => this.store.resolve(id, resolution));
      if (isDone) return;
      this.#fail('One of the versions has changed meanwhile; these are the present ones.');
      await this.#conflicts.again();
    });
  }

  async #store(note: Omit<Note, 'by'>, photos: PhotoChange): Promise<void> {
    await this.#try(async () => {
      const added = typeof photos === 'object' ? photos : undefined;
      const what = added
        ? `stored ${quoted(titleOf(note.text))} with its photo`
        : `stored ${quoted(titleOf(note.text))}`;
      await this.act(what, () => this.store.add({ ...note, by: this.#options.device.title }, added));
      this.#composer.show(undefined);
      this.#map.draft = undefined;
      this.#list.endUndo();
    });
  }

  #offerUndo({ id, title, whole }: DeletedNote): void {
    const undo = () => this.act(`brought back ${quoted(title)}`, () => this.store.restore(id, whole));
    this.#list.offerUndo(title, () => void this.#try(async () => void (await undo())));
  }

  /** A click on the map is for the note that is being written. */
  #place(place: Place): void {
    const form = this.#open.form ?? this.#composer;
    form.place = place;
  }

  #drafted(place: Place | undefined): void {
    this.#map.draft = place;
  }

  #choose(ids: readonly string[]): void {
    const [id] = ids;
    if (ids.length === 1 && id !== undefined) {
      this.#show(id);
      return;
    }
    this.#open.close();
    this.#list.place = ids;
  }

  #show(id: string): void {
    this.#list.endUndo();
    void this.#try(async () => {
      await this.#open.open(id);
      const versions = this.#conflicts.choose(id);
      if (versions > 1)
        this.#open.say(`This is one of its ${versions} versions: what becomes of them is chosen at the top.`);
    });
  }

  /** A note is open, or undefined: `closed` is no longer. */
  #onOpened(id: string | undefined, closed?: string): void {
    this.#map.selected = id;
    this.#map.draft = id === undefined ? this.#composer.place : undefined;
    this.#list.element.hidden = id !== undefined;
    if (closed !== undefined) this.#list.focus(closed);
  }

  async #try(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    fill(this.#trouble, error instanceof Error ? error.message : String(error));
  }
}

function toPin(id: string, { latlng, text, conflicts }: ViewRow['value']) {
  const place = asPlace(latlng);
  return place ? [{ id, place, title: titleOf(String(text ?? '')), isTorn: conflicts > 0 }] : [];
}

function describe({ state, way, waiting }: LinkState, other: string): string {
  const waits =
    waiting === undefined || waiting === 0 ? '' : `${waiting} ${waiting === 1 ? 'change waits' : 'changes wait'}`;
  switch (state) {
    case 'off':
      return waits === '' ? 'Disconnected. All of this works.' : `Disconnected. ${waits} to be sent.`;
    case 'alone':
      return `No server, and the ${other} is disconnected. ${waits === '' ? 'Nothing waits' : waits}.`;
    case 'failing':
      return `The ${way === 'server' ? 'server' : other} can’t be reached at the moment. ${waits}`.trim();
    case 'copying':
      return 'Copying …';
    case 'resting':
      return way === 'server' ? 'In sync through the server' : `In sync with the ${other}, without a server`;
  }
}
