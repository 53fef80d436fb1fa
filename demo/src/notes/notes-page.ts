/** Field notes on two devices, each with a database of its own in this browser: what they share, and what happens while they are apart. */
import type { RequestLog } from '../data/request-log.ts';
import { coalesce } from '../elements/coalesce.ts';
import { button, type Child, fill, make } from '../elements/elements.ts';
import type { Connections } from '../following/connections.ts';
import type { Network } from '../following/network.ts';
import { ServerPanel } from '../following/server-panel.ts';
import { describeReason, isAway } from '../following/server-reason.ts';
import { intro } from '../pages/intro.ts';
import { RequestList } from '../pages/request-list.ts';
import { DevicePanel, type News } from './device-panel.ts';
import { type Device, type DeviceName, devices } from './devices.ts';
import { Happenings } from './happenings.ts';
import { Links, SERVER_PATH } from './links.ts';
import type { ViewRow } from './live-rows.ts';
import { titleOf } from './note.ts';
import { NoteStore } from './note-store.ts';
import { sampleNotes } from './samples.ts';
import { quoted } from './sentences.ts';
import { tornEdits } from './versions.ts';

/** The state of replications has no feed. */
const STATE_MS = 700;
/** Between the steps of the conflict that is made on request, so that they can be followed. */
const STEP_MS = 900;
const ROUND_KEY = 'notes-round';

export class NotesPage {
  readonly element: HTMLElement;
  readonly #log: RequestLog;
  readonly #links: Links;
  readonly #panels: ReadonlyMap<DeviceName, DevicePanel>;
  readonly #server: NoteStore;
  readonly #happenings = new Happenings();
  readonly #requests: RequestList;
  readonly #way: ServerPanel;
  readonly #failure = make('p', { class: 'failure', role: 'alert' });
  readonly #tear = button('Make a conflict', () => void this.#work(() => this.#makeConflict()), {
    'data-action': 'tear',
  });
  readonly #over = button('Start over …', () => this.#askOver(), { 'data-action': 'start-over' });
  readonly #question = make('dialog', { 'aria-labelledby': 'start-over-title' });
  readonly #tabs = new Map<DeviceName, HTMLButtonElement>();
  /** Its failure says that there is no note yet to make a conflict of. */
  #waitsForShared = false;
  readonly #refresh = coalesce(() => this.#readStates().catch(() => undefined));
  #timer: ReturnType<typeof setInterval> | undefined;
  #hasBegun = false;
  #isDue = false;

  constructor(log: RequestLog, connections: Connections, network: Network) {
    this.#log = log;
    this.#links = new Links(log, (error) => this.#fail(error));
    this.#way = new ServerPanel(this.#links.again);
    this.#server = new NoteStore(SERVER_PATH, log);
    this.#requests = new RequestList(log);
    this.#panels = new Map(devices.map((device) => [device.name, this.#makePanel(device, connections)]));
    this.element = this.#layOut();
    this.#choose('phone');
    this.#links.addEventListener('change', () => this.#onLinks());
    log.addEventListener('request', () => this.#showRequestsSoon());
    // Also when the server is back: the feed or the device, whichever notices it first.
    network.addEventListener('change', () => void this.#links.again.now());
  }

  start(): void {
    for (const panel of this.#panels.values()) panel.start();
    this.#showRequestsSoon();
    this.#timer = setInterval(() => void this.#refresh(), STATE_MS);
    this.#way.start();
    void this.#begin();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#links.again.stop();
    this.#way.stop();
    for (const panel of this.#panels.values()) panel.stop();
  }

  get #isRunning(): boolean {
    return this.#timer !== undefined;
  }

  #makePanel(device: Device, connections: Connections): DevicePanel {
    return new DevicePanel({
      device,
      store: new NoteStore(`/db/${device.database}`, this.#log),
      connections,
      tell: (sentence) => this.#happenings.tell(sentence),
      onSwitch: (isOnline) => void this.#work(() => this.#switch(device, isOnline)),
      onEvent: (path, told) => this.#log.tell(path, told, false),
      onNews: (news) => this.#tellNews(device, news),
    });
  }

  #layOut(): HTMLElement {
    const lead =
      'Two devices, each with a database of its own in this browser. Disconnect one, write on both, and see that nothing is lost.';
    const tabs = devices.map(({ name, title }) => {
      const tab = button('', () => this.#choose(name), { 'aria-pressed': 'false', 'data-tab': name });
      fill(tab, make('span', { class: 'dot' }), title);
      this.#tabs.set(name, tab);
      return tab;
    });
    return make(
      'div',
      { class: 'notes' },
      make(
        'header',
        { class: 'notes-head' },
        intro(),
        make('div', {}, make('h1', {}, 'Field notes'), make('p', { class: 'lead' }, lead)),
        make('div', { class: 'actions' }, this.#tear, this.#over),
      ),
      this.#question,
      this.#failure,
      make('div', { class: 'device-tabs', role: 'group', 'aria-label': 'Device' }, ...tabs),
      make('div', { class: 'devices' }, ...[...this.#panels.values()].map(({ element }) => element)),
      make(
        'aside',
        { class: 'notes-aside', 'aria-label': 'What happens' },
        this.#happenings.element,
        make('div', { class: 'notes-way' }, this.#way.element),
        make('section', { class: 'notes-requests' }, make('h2', {}, 'Requests'), this.#requests.element),
      ),
    );
  }

  async #switch({ name, title }: Device, isOnline: boolean): Promise<void> {
    await this.#links.set([name], isOnline);
    const device = title.toLowerCase();
    const disconnected = `The ${device} is disconnected. What it writes stays on it, and is sent later.`;
    this.#happenings.tell(isOnline ? `The ${device} is connected again.` : disconnected);
  }

  /** On a narrow screen one device shows at a time. */
  #choose(name: DeviceName): void {
    this.element.dataset['shown'] = name;
    for (const [each, tab] of this.#tabs) tab.setAttribute('aria-pressed', String(each === name));
  }

  async #begin(): Promise<void> {
    try {
      const stores = [...this.#panels.values()].map(({ store }) => store);
      for (const store of stores) await store.prepare();
      // The page was left meanwhile.
      if (!this.#isRunning) return;
      await this.#links.again.start();
      const isNew = !this.#hasBegun && stores.every((store) => store.isNew);
      if (isNew && !(await this.#serverHasNotes())) await this.#addSamples();
      this.#hasBegun = true;
      await this.#refresh();
    } catch (error) {
      this.#fail(error);
    }
  }

  async #serverHasNotes(): Promise<boolean> {
    return this.#links.way === 'server' && (await this.#server.count()) > 0;
  }

  async #addSamples(): Promise<void> {
    const phone = this.#panels.get('phone');
    const notes = await sampleNotes(new Date());
    await phone?.act(`stored ${notes.length} notes to begin with`, async () => {
      await phone.store.addAll(notes);
      return true;
    });
  }

  #onLinks(): void {
    this.#way.say(...this.#wayText());
    this.element.dataset['way'] = this.#links.way ?? '';
    void this.#refresh();
  }

  #wayText(): readonly Child[] {
    const { way, reason } = this.#links;
    const { address } = this.#log.server;
    if (way === undefined) return [];
    if (reason)
      return [
        `${describeReason(reason, address)} Meanwhile the devices sync directly with each other, and everything works.`,
      ];
    return [
      `The server${address === undefined ? '' : ` at ${address}`} answers, and the devices sync through its database `,
      make('code', {}, 'settee-notes'),
      '. Everybody who uses that server sees these notes, and can change and delete them. Stop it, and the devices sync directly.',
    ];
  }

  /** A note that is the same on both devices. */
  #sharedRow(): ViewRow | undefined {
    const others = new Map(this.#panels.get('laptop')?.rows.map((row) => [row.id, row.value]));
    const rows = this.#panels.get('phone')?.rows;
    return rows?.find(({ id, value }) => value.conflicts === 0 && others.get(id)?.rev === value.rev);
  }

  async #readStates(): Promise<void> {
    if (this.#waitsForShared && this.#sharedRow()) {
      this.#waitsForShared = false;
      fill(this.#failure);
    }
    for (const [name, state] of await this.#links.states()) {
      this.#panels.get(name)?.showLink(state);
      const tab = this.#tabs.get(name);
      if (tab) tab.dataset['state'] = state.state;
    }
  }

  #tellNews(device: Device, news: News): void {
    const told = this.#describeNews(device, news);
    if (told !== undefined) this.#happenings.tell(told);
  }

  #describeNews({ title, name }: Device, { arrived, changed, gone, healed }: News): string | undefined {
    const device = title.toLowerCase();
    const how = this.#links.way === 'server' ? 'through the server' : 'directly, without a server';
    const quotedTitle = ({ value }: ViewRow) => quoted(titleOf(String(value.text ?? '')));
    const torn = changed.find(({ value }) => value.conflicts > 0);
    if (torn)
      return `Both versions of ${quotedTitle(torn)} have reached the ${device}. Nothing is lost: it keeps both until you choose.`;
    const [whole] = healed;
    if (whole) return `The ${device} received the resolution of ${quotedTitle(whole)}. Both devices agree again.`;
    const [first, ...others] = [...arrived, ...changed];
    if (first) {
      const what = others.length === 0 ? quotedTitle(first) : `${others.length + 1} notes`;
      return `The ${device} received ${what}, ${how}.`;
    }
    if (gone.length === 0 || this.#panels.get(name)?.isOnline !== true) return undefined;
    return `The ${device} has ${gone.length === 1 ? 'a note' : `${gone.length} notes`} less.`;
  }

  /** Step by step, as people cause one: offline, an edit of the same note on each device, and back online. */
  async #makeConflict(): Promise<void> {
    const [phone, laptop] = [this.#panels.get('phone'), this.#panels.get('laptop')];
    if (!phone || !laptop) return;
    const row = this.#sharedRow();
    this.#waitsForShared = row === undefined;
    if (!row) {
      const wait = 'Wait until both are in sync, or write one while both are connected.';
      throw new Error(`There is no note yet that is the same on both devices. ${wait}`);
    }
    // The conflict will show at the top of each device.
    this.element.querySelector('.devices')?.scrollTo({ top: 0 });
    await this.#links.set(['phone', 'laptop'], false);
    this.#happenings.tell('Both devices were disconnected. From here on neither knows what the other does.');
    const round = Number(localStorage.getItem(ROUND_KEY) ?? '0');
    localStorage.setItem(ROUND_KEY, String(round + 1));
    for (const [index, panel] of [phone, laptop].entries()) {
      await pause(STEP_MS);
      const version = await panel.store.get(row.id);
      const edited = version && tornEdits(version.note, round)[index];
      if (!version || !edited) throw new Error('The note is gone.');
      await this.#refresh();
      await panel.act(`changed ${quoted(titleOf(edited.text))}`, () =>
        panel.store.save(row.id, version, edited, 'keep'),
      );
    }
    await pause(STEP_MS);
    await this.#links.set(['phone', 'laptop'], true);
    this.#happenings.tell('Both devices are connected again. Each sends what the other lacks.');
  }

  #askOver(): void {
    const end = () => this.#question.close();
    const yes = () => {
      end();
      void this.#work(() => this.#startOver());
    };
    const sure = button('Delete all notes', yes, { class: 'danger solid', 'data-action': 'really-start-over' });
    fill(
      this.#question,
      make('h2', { id: 'start-over-title' }, 'Start over?'),
      make('p', {}, this.#whatIsDeleted()),
      make('div', { class: 'actions' }, sure, button('Keep them', end, { autofocus: true })),
    );
    this.#question.showModal();
  }

  #whatIsDeleted(): string {
    const { way, reason } = this.#links;
    const again = 'They can’t be brought back. Six sample notes take their place.';
    if (way === 'server') {
      return `All notes are deleted: on both devices, and at the server, which shares them with everybody who uses it. So the notes that others wrote are deleted, too. ${again}`;
    }
    const later =
      'The server is away. When it is back it deletes those that came from there, for everybody who uses it.';
    return `All notes on both devices are deleted. ${isAway(reason) ? `${later} ` : ''}${again}`;
  }

  async #startOver(): Promise<void> {
    const stores = [...this.#panels.values()].map(({ store }) => store);
    const counts: number[] = [];
    for (const store of this.#links.way === 'server' ? [...stores, this.#server] : stores)
      counts.push(await store.clear());
    this.#happenings.tell(
      `${Math.max(...counts)} notes were deleted, on both devices${counts.length > 2 ? ' and the server' : ''}.`,
    );
    await this.#links.set(['phone', 'laptop'], true);
    await this.#addSamples();
  }

  async #work(work: () => Promise<void>): Promise<void> {
    const controls = [this.#tear, this.#over];
    for (const control of controls) control.disabled = true;
    fill(this.#failure);
    try {
      await work();
    } catch (error) {
      this.#fail(error);
    }
    for (const control of controls) control.disabled = false;
    await this.#refresh();
  }

  #fail(error: unknown): void {
    fill(this.#failure, error instanceof Error ? error.message : String(error));
  }

  #showRequestsSoon(): void {
    if (this.#isDue || !this.#isRunning) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#requests.refresh();
    });
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
