/** Which devices are online, and the replications that follow from it: documents in `_replicator`, which outlive the page. */
import type { RequestLog } from '../data/request-log.ts';
import { Again } from '../following/again.ts';
import { type ServerReason, whyNotReached, whyNotRead } from '../following/server-reason.ts';
import { isAtRest, KeptNumber, type Listed } from '../sync/line.ts';
import {
  allJobIds,
  type Device,
  type DeviceName,
  devices,
  endsOf,
  type Job,
  ONLY_NOTES,
  type Way,
  wantedJobs,
} from './devices.ts';

/** The path at which the demo's own server passes requests on. */
export const SERVER_PATH = '/server/settee-notes';

export interface LinkState {
  readonly isOnline: boolean;
  readonly way: Way;
  /** `alone`: online, but there is nothing to reach. `resting`: the same as what it reaches. */
  readonly state: 'off' | 'alone' | 'copying' | 'resting' | 'failing';
  /** Changes of this device that the others don't have. Undefined if unknown. */
  readonly waiting: number | undefined;
}

const REPLICATOR = '/db/_replicator';
const JSON_HEADERS = { Accept: 'application/json', 'Content-Type': 'application/json' };
const PATIENCE_MS = 5_000;
/** While the server answers it is asked this often, so that the devices notice soon when it has gone. */
const EVERY_MS = 3_000;
const MAX_MS = 60_000;
const KEY = 'notes-offline';
/** A document's state may be written at the moment in which it is deleted. */
const ATTEMPTS = 5;

/** Fires `change` when a device goes online or offline, in this tab or another one, and when the way or the reason for it changes. */
export class Links extends EventTarget {
  /** Undefined before the server was first asked. */
  way: Way | undefined;
  /** Why it is not the server's. */
  reason: ServerReason | undefined;
  /** Asks the server, and changes the way if it has come or gone. */
  readonly again = new Again(() => this.#probe(), {
    firstMs: EVERY_MS,
    maxMs: MAX_MS,
    restMs: EVERY_MS,
    isWanted: () => !document.hidden,
  });
  readonly #log: RequestLog;
  readonly #onFailed: (error: unknown) => void;
  readonly #sentUpTo = new Map<DeviceName, KeptNumber>(
    devices.map(({ name }) => [name, new KeptNumber(`notes-sent-up-to/${name}`)]),
  );

  /** `onFailed`: the replications of this browser can't be changed. */
  constructor(log: RequestLog, onFailed: (error: unknown) => void) {
    super();
    this.#log = log;
    this.#onFailed = onFailed;
    addEventListener('storage', ({ key }) => key === KEY && this.dispatchEvent(new Event('change')));
  }

  get online(): ReadonlySet<DeviceName> {
    const offline = (localStorage.getItem(KEY) ?? '').split(' ');
    return new Set(devices.map(({ name }) => name).filter((name) => !offline.includes(name)));
  }

  /** Takes devices offline, or back online. */
  async set(names: readonly DeviceName[], isOnline: boolean): Promise<void> {
    // What has been sent by now is not known once the replications have ended.
    if (!isOnline) await this.states();
    const offline = devices
      .map(({ name }) => name)
      .filter((name) => (names.includes(name) ? !isOnline : !this.online.has(name)));
    localStorage.setItem(KEY, offline.join(' '));
    await this.apply();
    this.dispatchEvent(new Event('change'));
  }

  async #probe(): Promise<boolean> {
    const reason = await this.#whyNotServer();
    const way = reason === undefined ? 'server' : 'direct';
    if (way === this.way && JSON.stringify(reason) === JSON.stringify(this.reason)) return way === 'server';
    const isNewWay = way !== this.way;
    this.way = way;
    this.reason = reason;
    if (isNewWay) await this.apply().catch(this.#onFailed);
    this.dispatchEvent(new Event('change'));
    return way === 'server';
  }

  /** Requests the replications that are wanted, and ends the others. Tabs take turns. */
  async apply(): Promise<void> {
    await navigator.locks.request('notes-links', async () => {
      const wanted = wantedJobs(this.online, this.way ?? 'direct', `${location.origin}${SERVER_PATH}`);
      await this.#ask(`${REPLICATOR}?if-missing=true`, { method: 'PUT' }, 'quiet');
      const present = await this.#present();
      const isWanted = ({ id }: { readonly id: string }) => wanted.some((job) => job.id === id);
      for (const { id } of present.filter((job) => !isWanted(job))) await this.#end(id);
      for (const job of wanted) if (!present.some(({ id }) => id === job.id)) await this.#begin(job);
    });
  }

  async states(): Promise<ReadonlyMap<DeviceName, LinkState>> {
    const answer = await this.#ask('/db/_scheduler/docs/_replicator?limit=100', {}, 'quiet');
    const jobs: readonly Listed[] = answer.ok ? (await answer.json()).docs : [];
    const found = new Map<DeviceName, LinkState>();
    for (const device of devices) found.set(device.name, await this.#stateOf(device, jobs));
    return found;
  }

  async #stateOf(device: Device, jobs: readonly Listed[]): Promise<LinkState> {
    const { name } = device;
    const way = this.way ?? 'direct';
    const { send, receive } = endsOf(name, way);
    const [sender, receiver] = [send, receive].map((id) => jobs.find(({ doc_id }) => doc_id === id));
    const isOnline = this.online.has(name);
    const sentUpTo = this.#sentUpTo.get(name);
    if (isAtRest(sender)) sentUpTo?.set(sender?.info?.source_seq);
    const state = isOnline ? stateOf(sender, receiver) : 'off';
    const pending = sender?.info?.changes_pending ?? undefined;
    const isApart = state === 'off' || state === 'alone' || state === 'failing';
    return { isOnline, way, state, waiting: isApart ? await this.#unsent(device) : pending };
  }

  async #unsent({ name, database }: Device): Promise<number | undefined> {
    const since = this.#sentUpTo.get(name)?.get();
    if (since === undefined) return undefined;
    const query = new URLSearchParams({ since: String(since), limit: '1' });
    const answer = await this.#ask(`/db/${database}/_changes?${query}`, {}, 'quiet');
    if (!answer.ok) return undefined;
    const { results, pending } = await answer.json();
    return results.length + pending;
  }

  /** Once it is there it is only read: browsers write every 404 to the console. */
  #whyNotServer(): Promise<ServerReason | undefined> {
    const why = this.way === 'server' ? whyNotRead : whyNotReached;
    return why(SERVER_PATH.slice('/server/'.length), (query, init) =>
      this.#ask(`${SERVER_PATH}${query}`, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) }, 'quiet'),
    );
  }

  async #present(): Promise<readonly { readonly id: string; readonly rev: string }[]> {
    const query = new URLSearchParams({ keys: JSON.stringify(allJobIds) });
    const answer = await this.#ask(`${REPLICATOR}/_all_docs?${query}`, {}, 'quiet');
    if (!answer.ok) return [];
    const { rows }: { rows: readonly { id?: string; value?: { rev: string; deleted?: true } }[] } = await answer.json();
    return rows.flatMap(({ id, value }) =>
      id === undefined || value === undefined || value.deleted === true ? [] : [{ id, rev: value.rev }],
    );
  }

  async #begin({ id, source, target }: Job): Promise<void> {
    const body = JSON.stringify({ source, target, continuous: true, selector: ONLY_NOTES });
    await this.#ask(`${REPLICATOR}/${id}`, { method: 'PUT', body });
  }

  async #end(id: string): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const found = (await this.#present()).find((job) => job.id === id);
      if (found === undefined) return;
      const query = new URLSearchParams({ rev: found.rev });
      if ((await this.#ask(`${REPLICATOR}/${id}?${query}`, { method: 'DELETE' })).ok) return;
    }
  }

  #ask(path: string, init: RequestInit, logging?: 'quiet'): Promise<Response> {
    return this.#log.fetch(path, { headers: JSON_HEADERS, ...init }, logging);
  }
}

function stateOf(sender: Listed | undefined, receiver: Listed | undefined): LinkState['state'] {
  const own = [sender, receiver].filter((one) => one !== undefined);
  if (own.length === 0) return 'alone';
  if (own.some(({ info }) => info?.error !== undefined)) return 'failing';
  return own.every(isAtRest) ? 'resting' : 'copying';
}
