/** Two windows on one list: this browser's database, and the server's. Replication keeps them the same while there is a connection between them. */

import type { RequestLog } from '../data/request-log.ts';
import { coalesce } from '../elements/coalesce.ts';
import { button, fill, make } from '../elements/elements.ts';
import { formatCount, formatTime, formatWait } from '../elements/format.ts';
import { Again } from '../following/again.ts';
import type { Connections } from '../following/connections.ts';
import type { Network } from '../following/network.ts';
import { ServerPanel } from '../following/server-panel.ts';
import { describeReason, type ServerReason } from '../following/server-reason.ts';
import { ConflictMaker } from '../sync/conflict-maker.ts';
import { Line, type LineState, type PeerOutage } from '../sync/line.ts';
import { ListPanel } from '../sync/list-panel.ts';
import { PackingList } from '../sync/packing-list.ts';
import { StartPanel } from '../sync/start-panel.ts';

const LOCAL = 'packing';
/** The path at which the demo's own server passes requests on. */
const REMOTE = '/server/settee-demo';
/** The state of replications has no feed. */
const EVERY_MS = 700;
/** If the server did not answer when the page opened, it is tried again after waits that grow. */
const AGAIN = { firstMs: 3_000, maxMs: 60_000 } as const;

const SWITCH: Readonly<Record<LineState['state'], string>> = {
  off: 'Disconnected',
  copying: 'Connected',
  resting: 'Connected',
  failing: 'Waiting',
};

const STATES: Readonly<Record<LineState['state'], string>> = {
  off: 'Disconnected: each side goes its own way',
  copying: 'Copying …',
  resting: 'In sync',
  failing: 'The server can’t be reached',
};

export class SyncPage {
  readonly element: HTMLElement;
  readonly #here: PackingList;
  readonly #there: PackingList;
  readonly #line: Line;
  readonly #conflicts: ConflictMaker;
  readonly #panels: readonly ListPanel[];
  readonly #refresh = coalesce(() => this.#read().catch(() => undefined));
  readonly #switch = button('', () => void this.#toggle(), { class: 'line-switch', role: 'switch' });
  readonly #state = make('p', { class: 'line-state', role: 'status' });
  readonly #trouble = make('p', { class: 'hint line-trouble' });
  readonly #pending = make('p', { class: 'line-pending' });
  readonly #figures = make('p', { class: 'hint' });
  readonly #again = button('Try now', () => void this.#tryNow(), { 'data-action': 'again' });
  readonly #tear = button('Make a conflict', () => void this.#makeConflict(), { 'data-action': 'tear' });
  readonly #failure = make('p', { class: 'failure', role: 'alert' });
  #isOn = false;
  #isBusy = false;
  #hasBegun = false;
  readonly #log: RequestLog;
  readonly #beginning = new Again(() => this.#begin(), AGAIN);
  readonly #server: ServerPanel;
  readonly #start: StartPanel;
  #reason: ServerReason | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;

  constructor(log: RequestLog, connections: Connections, network: Network) {
    this.#log = log;
    this.#here = new PackingList(`/db/${LOCAL}`, log);
    this.#there = new PackingList(REMOTE, log);
    this.#line = new Line(LOCAL, `${location.origin}${REMOTE}`, log);
    this.#conflicts = new ConflictMaker(this.#here, this.#there);
    const panel = (name: string, title: string, where: string, list: PackingList) =>
      new ListPanel({ name, title, where, list, connections });
    this.#panels = [
      panel('here', 'This browser', `/db/${LOCAL}`, this.#here),
      panel('there', 'The server', '/settee-demo', this.#there),
    ];
    this.#server = new ServerPanel(this.#beginning);
    this.#start = new StartPanel(this.#there, {
      isEmpty: () => this.#panels[0]?.isEmpty === true,
      begin: () => this.#beginHere(),
      onMade: () => void this.#beginning.now(),
      address: () => log.server.address,
    });
    network.addEventListener('change', () => this.#onNetwork(network));
    // Until the state of the line is known.
    for (const control of [this.#switch, this.#again, this.#tear]) control.disabled = true;
    this.element = this.#layOut();
  }

  #layOut(): HTMLElement {
    const [here, there] = this.#panels;
    const lead =
      'Replication keeps the list in this browser and the one on the server the same, in both directions. Switch it off, change things on both sides, and switch it on again. Everybody who uses the server shares its list.';
    return make(
      'div',
      // Until something is known against it.
      { class: 'sync', 'data-begun': true },
      make('header', {}, make('h1', {}, 'One list, two databases'), make('p', { class: 'lead' }, lead)),
      this.#failure,
      make('div', { class: 'not-begun' }, this.#server.element, this.#start.element),
      make(
        'div',
        { class: 'windows' },
        here?.element,
        make(
          'div',
          { class: 'line' },
          this.#switch,
          this.#state,
          this.#trouble,
          this.#again,
          this.#pending,
          this.#figures,
          this.#tear,
        ),
        there?.element,
      ),
    );
  }

  start(): void {
    for (const panel of this.#panels) panel.start();
    void this.#refresh();
    this.#timer = setInterval(() => void this.#refresh(), EVERY_MS);
    this.#server.start();
    if (!this.#hasBegun) void this.#beginning.start();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#server.stop();
    this.#beginning.stop();
    for (const panel of this.#panels) panel.stop();
  }

  /** The first visit connects both, as soon as the server has its database. Resolves to whether it has. */
  async #begin(): Promise<boolean> {
    await this.#here.create();
    this.#reason = await this.#there.reach();
    if (this.#reason === undefined) {
      if (await this.#line.isNew()) {
        const [here, there] = await Promise.all([this.#here.items(), this.#there.items()]);
        if (here.length + there.length === 0) await this.#here.addFirstItems();
        await this.#line.connect();
      }
      this.#hasBegun = true;
    }
    this.#showReason();
    await this.#refresh();
    return this.#hasBegun;
  }

  #showReason(): void {
    const reason = this.#reason;
    this.element.toggleAttribute('data-begun', reason === undefined);
    this.#start.show(reason);
    const { address } = this.#log.server;
    const goesOn = 'As soon as the server can be reached, this page connects the two lists by itself.';
    this.#server.say(reason ? `${describeReason(reason, address)} ${goesOn}` : '');
  }

  /** Without the server; what is written is copied to it later. */
  async #beginHere(): Promise<void> {
    await this.#here.addFirstItems();
    await this.#panels[0]?.refresh();
    this.#showReason();
  }

  /** Where the page asks for the server anyway, the others need not wait until it is their turn. */
  #onNetwork({ state }: Network): void {
    if (state !== 'reached') return;
    if (!this.#hasBegun) void this.#beginning.now();
    for (const panel of this.#panels) panel.now();
  }

  async #read(): Promise<void> {
    if (this.#reason) this.#start.show(this.#reason);
    this.#show(await this.#line.state());
  }

  #show({ isOn, state, sent, received, pending, trouble }: LineState): void {
    this.#isOn = isOn;
    this.element.dataset['line'] = state;
    this.#switch.setAttribute('aria-checked', String(isOn));
    fill(this.#switch, SWITCH[state]);
    fill(this.#state, trouble && !isAway(trouble) ? 'Replication fails' : STATES[state]);
    fill(this.#trouble, trouble ? describe(trouble) : '');
    fill(this.#pending, pending === undefined ? '' : PENDING[state](pending));
    this.#again.hidden = trouble?.nextAttempt === undefined;
    fill(this.#figures, isOn ? `${formatCount(sent)} sent · ${formatCount(received)} received` : '');
    this.#tear.disabled = this.#isBusy || state === 'failing' || !this.#hasBegun;
    this.#switch.disabled = this.#isBusy;
    this.#again.disabled = this.#isBusy;
  }

  #toggle(): Promise<void> {
    return this.#work(() => (this.#isOn ? this.#line.disconnect() : this.#line.connect()));
  }

  /** Replications that are requested again begin at once. */
  #tryNow(): Promise<void> {
    return this.#work(async () => {
      await this.#line.disconnect();
      await this.#line.connect();
      for (const panel of this.#panels) panel.now();
    });
  }

  /** Step by step, as people cause one: offline, an edit of the same item on each side, and back online. */
  #makeConflict(): Promise<void> {
    return this.#work(async () => {
      await this.#conflicts.choose();
      try {
        await this.#line.disconnect();
        await this.#refresh();
        await pause(900);
        await this.#conflicts.change(0);
        await pause(900);
        await this.#conflicts.change(1);
        await pause(1_400);
      } finally {
        await this.#line.connect();
      }
    });
  }

  async #work(work: () => Promise<void>): Promise<void> {
    this.#isBusy = true;
    await this.#refresh();
    try {
      await work();
      fill(this.#failure);
    } catch (error) {
      fill(this.#failure, reasonOf(error));
    } finally {
      this.#isBusy = false;
      await this.#refresh();
    }
  }
}

const PENDING: Readonly<Record<LineState['state'], (count: number) => string>> = {
  off: waiting,
  failing: waiting,
  copying: (count) => (count === 0 ? '' : `${changes(count)} left to copy`),
  resting: () => 'Nothing left to copy',
};

/** In this browser: what waits at the server is unknown until the server is asked. */
function waiting(count: number): string {
  return count === 0
    ? 'Nothing here waits to be sent'
    : `${changes(count)} here ${count === 1 ? 'waits' : 'wait'} to be sent`;
}

function changes(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'change' : 'changes'}`;
}

/** No response came, or one from a proxy in front of the server. */
function isAway({ reason }: PeerOutage): boolean {
  return /can't be reached|broke off|with 50[0234] /.test(reason);
}

function describe(trouble: PeerOutage): string {
  const { reason, since, nextAttempt } = trouble;
  const seconds = nextAttempt === undefined ? 0 : Math.ceil((nextAttempt - Date.now()) / 1000);
  return [
    isAway(trouble) ? '' : `${reason}.`,
    since === undefined ? '' : `Since ${formatTime(since)}.`,
    seconds > 0 ? `Next attempt in ${formatWait(seconds)}.` : 'Being tried now.',
  ]
    .join(' ')
    .trim();
}

/** `fetch` rejects with a TypeError, whose message says little, when no response comes. */
function reasonOf(error: unknown): string {
  if (error instanceof TypeError) return 'The server can’t be reached.';
  return error instanceof Error ? error.message : String(error);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
