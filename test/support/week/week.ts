/**
 * A week of the guide's app (docs/sync.md) with time sped up: a server on data of an earlier release, which restarts, dies and is upgraded, and
 * four devices of two users, which sleep, lose the network and their credentials, and one of which has a wrong clock.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as realPause } from 'node:timers/promises';
import type { SyncStatus } from '../../../src/packages/database-client/index.ts';
import { unpackFolder } from '../packed-folder.ts';
import { type Trees, treesBehind } from '../replication/trees.ts';
import type { SeededRandom } from '../seeded-random.ts';
import { Device, isUpToDate } from './device.ts';
import { editSomething, newAttachments } from './edits.ts';
import { LoginService } from './login-service.ts';
import { ADMIN, RULE, settingsOf, USERS } from './server-setup.ts';
import { type SimulatedTime, simulateTime } from './simulated-time.mjs';
import { WeekServer } from './week-server.ts';

const HOUR_MS = 3_600_000;
const QUARTER_MS = HOUR_MS / 4;
/** Hours. */
export const DAY = 24;
/** Between two moments at which people use their devices. */
const STEP_HOURS = [0.25, 1, 3, 5] as const;
/** How long a step of the time waits until nothing is copied, in real milliseconds; and how often it then lets a moment pass, in simulated ones. */
const STEP_MS = 60;
const MAX_PAUSES = 5;
/** Less than peers may be silent. */
const PAUSE_MS = 20_000;
/** What everything that waits may need at the end of each simulated hour, in real milliseconds. */
const SETTLE_MS = 3_000;
/** For how long time waits for answers, in real milliseconds: an answer may itself wait for time to pass. */
const ANSWER_MS = 10_000;
const MAX_STEPS = 90;

/** A database of the earlier release (test/fixtures/README.md). */
export const DATABASE = 'killed';
const FORMER_DATA = join(import.meta.dirname, '..', '..', 'fixtures', 'data-folder-format-1.gz');
export const NEXT_VERSION = '99.0.0';

type Event = () => Promise<void> | void;

export class Week {
  readonly server: WeekServer;
  readonly loginService: LoginService;
  /** Laptop and desk have tokens, phone and tablet a session. */
  readonly laptop: Device;
  readonly phone: Device;
  readonly desk: Device;
  readonly tablet: Device;
  readonly devices: Device[] = [];
  /** Ids of notes that the server refuses at present. */
  readonly refused = new Set<string>();
  readonly #time: SimulatedTime;
  readonly #random: SeededRandom;
  #hour = 0;
  #edits = 0;
  /** When a device does what next, in hours since the beginning. */
  readonly #plans = new Map<Device, { readonly at: number; readonly event: Event }>();
  /** Devices that sleep, or have no network. */
  readonly #away = new Set<Device>();

  private constructor(server: WeekServer, time: SimulatedTime, random: SeededRandom) {
    this.server = server;
    this.#time = time;
    this.#random = random;
    this.loginService = new LoginService();
    const device = (name: string, user: keyof typeof USERS, auth: 'token' | 'session') =>
      new Device({
        ...{ name, user, password: USERS[user], auth, remote: DATABASE, loginService: this.loginService },
        serverAddress: () => server.url,
      });
    this.laptop = device('laptop', 'ann', 'token');
    this.phone = device('phone', 'ann', 'session');
    this.desk = device('desk', 'bob', 'token');
    this.tablet = device('tablet', 'bob', 'session');
  }

  static async begin(random: SeededRandom): Promise<Week> {
    const time = simulateTime();
    const week = new Week(await WeekServer.create(time), time, random);
    try {
      await week.#startServer();
    } catch (error) {
      await week.close();
      throw error;
    }
    return week;
  }

  async close(): Promise<void> {
    for (const device of this.devices) if (device.isOpen) await device.close();
    await this.server.close();
    this.#time.restore();
  }

  /** Lets hours pass until the given one, counted from Monday, 0:00. */
  async passUntil(hour: number): Promise<void> {
    while (this.#hour < hour) {
      await this.#carryOutPlans();
      for (const device of this.devices) await this.#live(device);
      const hours = Math.min(this.#random.oneOf(STEP_HOURS) ?? 1, hour - this.#hour);
      await this.#advance(hours * HOUR_MS);
      this.#hour += hours;
    }
  }

  async add(device: Device): Promise<void> {
    this.devices.push(device);
    await device.open();
  }

  /** Puts the device to sleep for that many hours, whatever it does. */
  async sleep(device: Device, hours: number): Promise<void> {
    await this.wake(device);
    await this.#sleep(device, hours);
  }

  /** Ends all sleep, and whatever keeps devices from the server. */
  async wakeAll(): Promise<void> {
    for (const device of this.devices) await this.wake(device);
  }

  /** Resolves when the sync of each device says that everything is copied, and that is so. Everyone must be awake. */
  async settle(): Promise<void> {
    for (let hours = 0; hours < MAX_STEPS; hours++) {
      // Ends all waits.
      await this.#advance(HOUR_MS, 'gently');
      for (const device of this.devices) await device.tryLogin();
      const controller = new AbortController();
      const { signal } = controller;
      const tooLong = realPause(SETTLE_MS, undefined, { signal }).then(() => controller.abort());
      const isSettled = await this.#areSettled(signal);
      controller.abort();
      await tooLong.catch(() => undefined);
      if (isSettled) return;
    }
    throw new Error(`the devices do not become equal:\n${await this.#describe()}`);
  }

  /** Passes the time until the server knows that each device has read all changes that it has now. */
  async untilAllHaveRead(): Promise<void> {
    const { update_seq: seq } = Object(await this.ask('GET', `/${DATABASE}`));
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      await realPause(pauseBefore(steps));
      await this.#passGently(PAUSE_MS);
      const { peers }: { readonly peers: readonly Peer[] } = Object(
        await this.ask('GET', `/${DATABASE}/_auto_purge/peers`),
      );
      const readers = peers.filter((peer) => peer.side === 'source' && peer.seq !== null && peer.seq >= seq);
      if (readers.length >= this.devices.length) return;
    }
    const listed = JSON.stringify(await this.ask('GET', `/${DATABASE}/_auto_purge/peers`));
    throw new Error(`not all have read all changes up to ${seq}:\n${listed}\n${await this.#describe()}`);
  }

  /** Passes the time until the device's sync is as it should be; it does not sleep meanwhile. */
  async until(device: Device, isDone: (status: SyncStatus) => boolean): Promise<void> {
    await this.wake(device);
    for (let steps = 0; steps < MAX_STEPS; steps++) {
      await realPause(pauseBefore(steps));
      await device.tryLogin();
      await this.#advance(QUARTER_MS, 'gently');
      // The status follows a little later.
      if (steps > 0 && isDone(device.sync.status())) return;
    }
    throw new Error(`the sync of ${device.name} does not become what is expected:\n${await this.#describe()}`);
  }

  /** The server is killed while the device pushes pictures, and started two hours later. */
  async killDuringPush(device: Device): Promise<void> {
    await this.wake(device);
    const random = this.#random;
    let isKilled = false;
    device.network.onRequest = (request) => {
      if (!request.endsWith('/_bulk_docs')) return;
      device.network.onRequest = undefined;
      void realPause(random.between(0, 30))
        .then(() => this.server.kill())
        .then(() => {
          isKilled = true;
        });
    };
    const docs = Array.from({ length: 30 }, (_, index) => ({
      ...{ _id: `${device.name}-picture-${index}`, owner: device.user, text: `picture ${index}` },
      ...newAttachments(random, 100),
    }));
    await device.notes.bulk(docs);
    await this.until(device, () => isKilled);
    await this.#advance(2 * HOUR_MS);
    await this.server.start();
  }

  /** Sends a request to the server as its admin. Returns the parsed response. */
  async ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const { url } = this.server;
    if (url === undefined) throw new Error('the server does not run');
    const headers = { accept: 'application/json', 'content-type': 'application/json', authorization: ADMIN };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    return (await fetch(`${url}${path}`, { method, headers, ...init })).json();
  }

  /** Design documents are not copied, nor what the server refuses. */
  isCopied(id: string): boolean {
    return !id.startsWith('_design/') && !this.refused.has(id);
  }

  treesOfServer(): Promise<Trees> {
    return treesBehind((path) => this.ask('GET', `/${DATABASE}${path}`));
  }

  async #startServer(): Promise<void> {
    const { dataFolder } = this.server;
    await unpackFolder(FORMER_DATA, dataFolder);
    await writeFile(join(dataFolder, 'settee.ini'), settingsOf(this.loginService));
    await this.server.start();
    await this.#must('PUT', '/_users');
    for (const [name, password] of Object.entries(USERS)) {
      const user = { type: 'user', name, password, roles: ['family'] };
      await this.#must('PUT', `/_users/org.couchdb.user:${name}`, user);
    }
    const nobody = { names: [], roles: [] };
    const security = { admins: nobody, members: { names: [], roles: ['family'] } };
    await this.#must('PUT', `/${DATABASE}/_security`, security);
    await this.#must('PUT', `/${DATABASE}/_design/rules`, { validate_doc_update: RULE });
  }

  async #must(method: string, path: string, body?: unknown): Promise<void> {
    const answer = await this.ask(method, path, body);
    if (typeof answer !== 'object' || answer === null || !('ok' in answer))
      throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`);
  }

  /**
   * Lets the time pass, and lets devices copy what they can. Whatever takes too long is at work when the time passes the next time, and a request
   * may find that it has waited for hours; `gently`: no request finds that.
   */
  async #advance(ms: number, how?: 'gently'): Promise<void> {
    const pass = (milliseconds: number) =>
      how === 'gently' ? this.#passGently(milliseconds) : this.#pass(milliseconds);
    await pass(ms);
    for (let pauses = 0; pauses < MAX_PAUSES; pauses++) {
      if (await this.#areQuiet()) return;
      // Replications wait between two attempts.
      await pass(PAUSE_MS);
    }
  }

  /** Lets the time pass when the server has answered all requests, however busy the machine is: otherwise they would have waited too long, again and again. */
  async #passGently(ms: number): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    const answered = Promise.all(this.devices.map(({ network }) => network.answered()));
    await Promise.race([answered, realPause(ANSWER_MS, undefined, { signal }).catch(() => undefined)]);
    controller.abort();
    await this.#pass(ms);
  }

  async #pass(ms: number): Promise<void> {
    this.#time.advance(ms);
    await this.server.follow();
  }

  /** Waits for a moment until nothing is copied; returns whether that is so. */
  async #areQuiet(): Promise<boolean> {
    const open = this.devices.filter(({ isOpen }) => isOpen);
    const controller = new AbortController();
    const { signal } = controller;
    const quiet = Promise.all(open.map((device) => device.quiet())).then(() => true);
    const tooLong = realPause(STEP_MS, false, { signal }).catch(() => false);
    const areQuiet = await Promise.race([quiet, tooLong]);
    controller.abort();
    return areQuiet;
  }

  async #carryOutPlans(): Promise<void> {
    for (const [device, { at, event }] of [...this.#plans]) {
      if (at > this.#hour) continue;
      this.#plans.delete(device);
      await event();
      this.#away.delete(device);
    }
  }

  /** What someone does with a device between two steps of the time. */
  async #live(device: Device): Promise<void> {
    const random = this.#random;
    const isAway = this.#away.has(device);
    if (!isAway && random.chance(8)) return this.#sleep(device, random.between(2, 14));
    if (!isAway && random.chance(8)) this.#disconnect(device, random.between(1, 8));
    if (!device.isOpen) return;
    await device.tryLogin();
    if (random.chance(65)) {
      const deletesShared = this.#hour >= 4 * DAY;
      await editSomething(device, { random, number: ++this.#edits, deletesShared });
    }
  }

  async #sleep(device: Device, hours: number): Promise<void> {
    device.network.cut();
    await device.close();
    this.#away.add(device);
    this.#plans.set(device, {
      at: this.#hour + hours,
      event: async () => {
        device.connect({ isNoticed: false });
        await device.open();
      },
    });
  }

  /** It is used on without a network. */
  #disconnect(device: Device, hours: number): void {
    device.network.cut();
    this.#away.add(device);
    const isNoticed = this.#random.chance(50);
    this.#plans.set(device, { at: this.#hour + hours, event: () => device.connect({ isNoticed }) });
  }

  /** Ends its sleep, and whatever keeps it from the server. */
  async wake(device: Device): Promise<void> {
    const plan = this.#plans.get(device);
    this.#plans.delete(device);
    this.#away.delete(device);
    await plan?.event();
  }

  /** False once the signal is aborted. */
  async #areSettled(signal: AbortSignal): Promise<boolean> {
    while (!signal.aborted) {
      await Promise.all(this.devices.map((device) => device.upToDate(signal)));
      if (await this.#areEqual()) return this.devices.every(({ sync }) => isUpToDate(sync.status()));
      await realPause(20);
    }
    return false;
  }

  /** Whether all have the same living documents, but for those that the server refuses. */
  async #areEqual(): Promise<boolean> {
    return new Set((await this.#leaves(this.devices)).map((lines) => lines.join('\n'))).size === 1;
  }

  /** What is not as it should be. */
  async #describe(): Promise<string> {
    const awake = this.devices.filter(({ isOpen }) => isOpen);
    const jobs = await Promise.all(awake.map((device) => device.ask('/_scheduler/docs/_replicator')));
    const [server = [], ...others] = await this.#leaves(awake);
    const lines = awake.map((device, index) => {
      const own = others[index] ?? [];
      const more = own.filter((line) => !server.includes(line));
      const missing = server.filter((line) => !own.includes(line));
      return JSON.stringify({
        device: device.name,
        more: more.slice(0, 5),
        missing: missing.slice(0, 5),
        status: device.sync.status(),
        errors: device.errors,
      });
    });
    return [...lines, this.server.output, JSON.stringify(jobs)].join('\n');
  }

  /** A line for each living document, at the server and on each device. */
  #leaves(devices: readonly Device[]): Promise<string[][]> {
    const atServer = (path: string) => this.ask('GET', `/${DATABASE}${path}`);
    const atDevices = devices.map((device) => (path: string) => device.ask(`/notes${path}`));
    return Promise.all([atServer, ...atDevices].map((ask) => this.#leavesAt(ask)));
  }

  async #leavesAt(ask: (path: string) => Promise<unknown>): Promise<string[]> {
    const { results }: { readonly results?: readonly Row[] } = Object(await ask('/_changes?style=all_docs'));
    const rows = (results ?? []).filter(({ id, deleted }) => deleted !== true && this.isCopied(id));
    return rows.map(({ id, changes }) => `${id} ${changes.map(({ rev }) => rev).sort()}`).sort();
  }
}

/** Real milliseconds, which a device needs for what it does at one moment of the simulated time. */
function pauseBefore(step: number): number {
  return Math.min(500, step * 10);
}

interface Peer {
  readonly side: string;
  readonly seq: number | null;
}

interface Row {
  readonly id: string;
  readonly deleted?: true;
  readonly changes: readonly { readonly rev: string }[];
}
