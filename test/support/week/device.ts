/** A device with the app of docs/sync.md: a core of its own with a clock of its own, the notes of one user, and their sync with the server. */
import { type Clock, systemRandom } from '../../../src/base/shared/clock.ts';
import type { Log } from '../../../src/base/system/contract.ts';
import { type Core, createCore } from '../../../src/core/core.ts';
import { deferredAtHand } from '../../../src/core/deferred/deferred-code.ts';
import { createFetch } from '../../../src/http/fetch-adapter.ts';
import type { Fetch } from '../../../src/packages/database-client/contract.ts';
import {
  type Database,
  database,
  type Stored,
  type Sync,
  type SyncOptions,
  type SyncStatus,
  sync,
} from '../../../src/packages/database-client/index.ts';
import type { ReplicationActivity, TokenSource, TokenSourceChange } from '../../../src/replication/contract.ts';
import { createMemoryPageStore, MemoryMedium } from '../../../src/storage/memory-page-store.ts';
import { createTestSandbox } from '../../unit/queries/sandbox/quickjs-files.ts';
import { DeviceNetwork, SERVER } from './device-network.ts';
import type { LoginService } from './login-service.ts';

export interface Note {
  readonly owner: string;
  readonly text: string;
}

export interface DeviceOptions {
  readonly name: string;
  readonly user: string;
  readonly password: string;
  /** By tokens of the login service, or by a session, whose cookie the device keeps. */
  readonly auth: 'token' | 'session';
  /** The database's name on the server. */
  readonly remote: string;
  readonly loginService: LoginService;
  /** Where the server listens; undefined while it doesn't. */
  readonly serverAddress: () => string | undefined;
}

/** The machine's clock, which may be wrong. */
class DeviceClock implements Clock {
  aheadMs = 0;

  now(): number {
    return Date.now() + this.aheadMs;
  }

  monotonic(): number {
    return performance.now();
  }
}

/** What exists while the app is open. */
interface OpenApp {
  readonly core: Core;
  readonly notes: Database<Note>;
  readonly sync: Sync;
  readonly end: AbortController;
  /** Settles when no conflict is resolved any more. */
  readonly resolved: Promise<void>;
}

export class Device {
  readonly name: string;
  readonly user: string;
  readonly clock = new DeviceClock();
  readonly network: DeviceNetwork;
  /** What was logged as an error. */
  readonly errors: string[] = [];
  /** The states that the sync has had, each once. */
  readonly states = new Set<string>();
  /** The latest reason why a document of that id was refused. */
  readonly denied = new Map<string, unknown>();
  logins = 0;
  readonly #options: DeviceOptions;
  readonly #medium = new MemoryMedium();
  readonly #tokenListeners = new Set<(change: TokenSourceChange) => void>();
  readonly #activityListeners = new Set<(activity: ReplicationActivity) => void>();
  #needsLogin = false;
  #app: OpenApp | undefined;

  constructor(options: DeviceOptions) {
    this.#options = options;
    this.name = options.name;
    this.user = options.user;
    this.network = new DeviceNetwork(options.serverAddress, this.clock);
  }

  get isOpen(): boolean {
    return this.#app !== undefined;
  }

  get notes(): Database<Note> {
    return this.#opened.notes;
  }

  get sync(): Sync {
    return this.#opened.sync;
  }

  get #opened(): OpenApp {
    if (this.#app === undefined) throw new Error(`${this.name} sleeps`);
    return this.#app;
  }

  /** Opens the app with the data that the device has. */
  async open(): Promise<void> {
    const core = await createCore({
      storage: createMemoryPageStore({ medium: this.#medium }),
      clock: this.clock,
      random: systemRandom,
      log: this.#log,
      deferred: deferredAtHand(createTestSandbox()),
      network: {
        fetch: this.network.fetch,
        isBrowserFetch: true,
        isOnline: () => this.network.isOnline,
        tokenSource: this.#tokenSource,
      },
      replications: {
        requests: undefined,
        onActivity: (activity) => {
          for (const listener of [...this.#activityListeners]) listener(activity);
        },
      },
    });
    const { remote, auth } = this.#options;
    const notes = database<Note>(fetchOf(core), `http://${this.name}.example/notes`);
    await notes.create();
    const options: SyncOptions = { auth: auth === 'token' ? { bearer: { provided: true } } : { session: true } };
    const notesSync = sync(notes, `${SERVER}/${remote}`, options);
    notesSync.addEventListener('status', ({ detail: { push, pull } }) => {
      for (const one of [push, pull]) if (one !== undefined) this.states.add(one.state);
    });
    notesSync.addEventListener('unauthorized', () => void this.#askForPassword());
    notesSync.addEventListener('denied', ({ detail: { id, reason } }) => this.denied.set(id, reason));
    const end = new AbortController();
    this.#app = { core, notes, sync: notesSync, end, resolved: resolveConflicts(notes, end.signal) };
    if (auth === 'token') this.provideTokens();
  }

  /** The device sleeps, or its browser is closed: nothing goes on until the app is opened again. */
  async close(): Promise<void> {
    const { core, sync: notesSync, end, resolved } = this.#opened;
    this.#app = undefined;
    notesSync.close();
    end.abort();
    await resolved;
    await core.close();
  }

  /** The network is back, of which the browser tells the core if `isNoticed`. */
  connect({ isNoticed }: { readonly isNoticed: boolean }): void {
    this.network.isOnline = true;
    if (isNoticed) this.#app?.core.networkIsBack();
  }

  /** Another page of the app is opened, which provides tokens. */
  provideTokens(): void {
    for (const listener of [...this.#tokenListeners]) listener({ type: 'added', prefix: `${SERVER}/` });
  }

  /** The user tries to log in again, if that is asked for. */
  async tryLogin(): Promise<void> {
    if (this.#needsLogin) await this.#askForPassword();
  }

  /** Corrects a note as the app does. */
  async edit(id: string, text: string): Promise<void> {
    const wasRefused = this.denied.delete(id);
    await this.notes.update(id, (note) => ({ ...keptAttachments(note), owner: this.user, text }));
    if (wasRefused) this.#retry();
  }

  /** Returns the parsed response of the device's own core, below its root. */
  async ask(path: string): Promise<unknown> {
    const headers = { accept: 'application/json' };
    const response = await fetchOf(this.#opened.core)(`http://${this.name}.example${path}`, { method: 'GET', headers });
    return response.json();
  }

  /** Resolves when nothing is copied. */
  quiet(): Promise<void> {
    const { core } = this.#opened;
    return new Promise((resolve) => {
      const look = (activity: ReplicationActivity) => {
        if (activity === 'busy') return;
        this.#activityListeners.delete(look);
        resolve();
      };
      this.#activityListeners.add(look);
      look(core.replications.activity);
    });
  }

  /** Resolves when the status says that everything is copied, or the signal is aborted. */
  upToDate(signal: AbortSignal): Promise<void> {
    const { sync: notesSync } = this.#opened;
    return new Promise((resolve) => {
      const look = () => {
        if (!signal.aborted && !isUpToDate(notesSync.status())) return;
        notesSync.removeEventListener('status', look);
        signal.removeEventListener('abort', look);
        resolve();
      };
      notesSync.addEventListener('status', look);
      signal.addEventListener('abort', look);
      look();
    });
  }

  get #tokenSource(): TokenSource {
    const { loginService, user } = this.#options;
    return {
      ask: () => loginService.issue(user),
      onChange: (listener) => {
        this.#tokenListeners.add(listener);
        return () => this.#tokenListeners.delete(listener);
      },
    };
  }

  get #log(): Log {
    const error = (message: string, cause?: unknown) =>
      void this.errors.push(`${message} ${cause instanceof Error ? cause.stack : (cause ?? '')}`);
    return { error, info: () => undefined, debug: () => undefined };
  }

  async #askForPassword(): Promise<void> {
    const { auth, user: name, password } = this.#options;
    if (auth !== 'session') return;
    this.#needsLogin = true;
    const response = await this.network
      .fetch(`${SERVER}/_session`, {
        method: 'POST',
        credentials: 'include',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name, password }),
      })
      .catch(() => undefined);
    if (response?.ok !== true) return;
    this.logins += 1;
    this.#needsLogin = false;
    this.#retry();
  }

  /** Is not waited for: within an attempt, time may have to pass. */
  #retry(): void {
    const app = this.#app;
    app?.sync.retry().catch((error: unknown) => {
      if (this.#app === app) this.errors.push(`retry() failed: ${error}`);
    });
  }
}

/** A page's `fetch`. The signal ends the body of the response; a Request of Node would listen to it until it is garbage. */
function fetchOf({ handle }: Core): Fetch {
  const send = createFetch(handle);
  return async (url, { signal, ...init }) => {
    signal?.throwIfAborted();
    const response = await send(new Request(url, init));
    const body = signal && response.body?.pipeThrough(new TransformStream(), { signal });
    return body ? new Response(body, response) : response;
  };
}

export function isUpToDate({ push, pull }: SyncStatus): boolean {
  return [push, pull].every(
    (one) => one !== undefined && (one.state === 'paused' || one.state === 'denied') && !one.pending,
  );
}

/** Notes whose conflicts nobody resolves. */
const LEFT_IN_CONFLICT = /^open-/;

/** As the guide's app does. Ends with the signal. */
async function resolveConflicts(notes: Database<Note>, signal: AbortSignal): Promise<void> {
  try {
    const options = { live: true, include_docs: true, conflicts: true, signal } as const;
    for await (const { doc } of notes.changes(options)) {
      if (doc?._conflicts && !LEFT_IN_CONFLICT.test(doc._id)) await resolve(notes, doc, doc._conflicts);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

/** Texts of joined notes, so that a note which is in conflict again and again stays short. */
const MAX_TEXTS = 4;

/** The result depends on nothing but the versions. */
async function resolve(notes: Database<Note>, winner: Stored<Note>, conflicts: readonly string[]): Promise<void> {
  const { _id, _rev, owner = '', text = '' } = winner;
  const others = await Promise.all(conflicts.map((rev) => notes.get(_id, { rev })));
  const texts = [text, ...others.map((other) => other?.text ?? '')].flatMap((one) => one.split(' / '));
  const joined = [...new Set(texts)].sort().slice(-MAX_TEXTS).join(' / ');
  const deletions = conflicts.map((rev) => ({ _id, _rev: rev, _deleted: true as const, owner }));
  await notes.bulk([{ ...keptAttachments(winner), _id, _rev, owner, text: joined }, ...deletions]);
}

function keptAttachments(note: Stored<Note> | undefined): Pick<Stored<Note>, '_attachments'> {
  return note?._attachments === undefined ? {} : { _attachments: note._attachments };
}
