/** `sync()`: keeps a database in sync with one on a server, by two documents of `_replicator`. */
import { pause } from '../../../base/shared/clock.ts';
import type { RefusedDocument, ReplicationDocumentEntry } from '../../interface/replication.ts';
import type { Database } from '../contract.ts';
import { create, database } from '../database.ts';
import { type Ask, createAsk, isLater, isRefusal, SetteeError } from '../requests.ts';
import type {
  Sync,
  SyncDirection,
  SyncDirectionStatus,
  SyncError,
  SyncEvents,
  SyncListenerOptions,
  SyncOptions,
  SyncState,
  SyncStatus,
} from './contract.ts';
import {
  asUser,
  documentId,
  getDocument,
  type ReplicatorDatabase,
  removeDocument,
  type SyncEnds,
  wantedDocument,
  writeDocument,
} from './sync-documents.ts';
import { type Look, SyncFollower } from './sync-follower.ts';
import {
  type Entry,
  entryOf,
  eventsBetween,
  failedStatus,
  isUnderWay,
  overall,
  PENDING,
  statusOf,
  stoppedStatus,
} from './sync-status.ts';

/** Between two attempts to request the replications while the local service is not available: the first pause, and the longest. */
const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 15_000;

/**
 * Keeps a local database in sync with one on a server: in both directions, with each change, through reloads, and while the device is now and
 * then offline. `live: false` copies once.
 *
 *     const notesSync = sync(database(settee.fetch, '/db/notes'), 'https://app.example/db/notes', { auth: { session: true } });
 *     notesSync.addEventListener('status', ({ detail }) => show(detail.state));
 *
 * Creates the local database if it does not exist, and writes one document for each direction into `_replicator` of the local service
 * (docs/http/replication.md#replication-documents), which does the work. The ids of the documents follow from the database, the URL and the
 * direction. So a second call, after a reload or in another tab, finds what runs and does not start it again. If its options are others, they
 * apply to the sync from then on. The sync outlives the object and the page: it ends with `stop()`. docs/sync.md is a guide.
 *
 * In the browser, or on Node: then the database's server does the work. Users who are not server admins there see no figures, and `active` for
 * everything that runs.
 *
 * @param local a database of `database()`
 * @param url of the database on the server; in a page it may be relative
 * @throws TypeError if the URL is not one of a database
 */
export function sync(
  local: Pick<Database<object>, 'fetch' | 'address'>,
  url: string | URL,
  options: SyncOptions = {},
): Sync {
  return new DatabaseSync(local, url, options);
}

type Directions = Partial<Record<SyncDirection, SyncDirectionStatus>>;

type Listener = Parameters<EventTarget['addEventListener']>[1];

class DatabaseSync implements Sync {
  readonly ready: Promise<void>;
  readonly #events = new EventTarget();
  readonly #options: SyncOptions;
  readonly #directions: readonly SyncDirection[];
  readonly #ends: SyncEnds;
  readonly #service: Ask;
  readonly #local: Ask;
  readonly #replicator: ReplicatorDatabase;
  readonly #follower: SyncFollower;
  /** Directions in which everything was copied once. */
  readonly #caughtUp = new Set<SyncDirection>();
  readonly #requesting = new Set<Promise<void>>();
  #status: SyncStatus;
  #isStopped = false;

  constructor(
    { fetch, address }: Pick<Database<object>, 'fetch' | 'address'>,
    url: string | URL,
    options: SyncOptions,
  ) {
    const root = address.replace(/\/+$/, '');
    const slash = root.lastIndexOf('/');
    const base = root.slice(0, slash);
    this.#options = options;
    const { direction = 'both' } = options;
    this.#directions = direction === 'both' ? ['push', 'pull'] : [direction];
    this.#ends = { name: decodeURIComponent(root.slice(slash + 1)), url: parseUrl(url) };
    this.#service = createAsk(fetch, base);
    this.#local = createAsk(fetch, root);
    this.#replicator = database(fetch, `${base}/_replicator`);
    this.#status = overall(this.#each(() => PENDING));
    this.#follower = new SyncFollower({
      feeds: [createAsk(fetch, `${base}/_replicator`), this.#local],
      look: () => this.#look(),
    });
    this.ready = this.#start();
    // The status says so, too.
    this.ready.catch(() => undefined);
  }

  status(): SyncStatus {
    return this.#status;
  }

  async retry(): Promise<void> {
    if (this.#follower.isClosed) return;
    const before = this.#status;
    await this.#request();
    // Meanwhile it may have been stopped: then nothing may begin any more.
    if (this.#follower.isClosed) return;
    this.#follower.start();
    await Promise.all(this.#directions.map((direction) => this.#retry(direction, before[direction])));
    await this.#follower.look();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.close();
    await this.ready.catch(() => undefined);
    // What is being written would be left behind.
    await Promise.allSettled(this.#requesting);
    const removals = this.#directions.map((direction) =>
      removeDocument(this.#replicator, documentId(this.#ends, direction)),
    );
    // If one direction can't be ended, the other one is.
    await Promise.allSettled(removals);
    await Promise.all(removals);
    this.#show(this.#each(stoppedStatus));
  }

  close(): void {
    this.#follower.close();
  }

  // Each type is dispatched with its own detail.
  addEventListener<Type extends keyof SyncEvents>(
    type: Type,
    listener: (event: SyncEvents[Type]) => void,
    options?: SyncListenerOptions,
  ): void {
    this.#events.addEventListener(type, listener as Listener, options);
  }

  removeEventListener<Type extends keyof SyncEvents>(type: Type, listener: (event: SyncEvents[Type]) => void): void {
    this.#events.removeEventListener(type, listener as Listener);
  }

  #each(make: (direction: SyncDirection) => SyncDirectionStatus): Directions {
    return Object.fromEntries(this.#directions.map((direction) => [direction, make(direction)]));
  }

  /** The local service may be busy, restart, or lose its owner at any time. */
  async #start(): Promise<void> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
      try {
        await this.#request();
        break;
      } catch (failure) {
        const isRepeated = isPassing(failure) && !this.#follower.isClosed;
        this.#fail(failure, isRepeated ? pauseMs : undefined);
        if (!isRepeated) throw failure;
      }
      await pause(pauseMs);
      if (this.#isStopped) return;
    }
    this.#follower.start();
  }

  /** Writes the documents that are not there yet. */
  #request(): Promise<void> {
    const request = this.#writeDocuments().finally(() => this.#requesting.delete(request));
    this.#requesting.add(request);
    return request;
  }

  async #writeDocuments(): Promise<void> {
    await create(this.#local).catch(ignoreRefusal);
    for (const direction of this.#directions) {
      const wanted = wantedDocument(this.#ends, direction, this.#options);
      await writeDocument(this.#replicator, await asUser(this.#service, wanted));
    }
  }

  #fail(failure: unknown, retryMs: number | undefined): void {
    if (this.#follower.isClosed) return;
    const nextAttempt = retryMs === undefined ? undefined : new Date(Date.now() + retryMs).toISOString();
    this.#show(this.#each(() => failedStatus(errorOf(failure), nextAttempt)));
  }

  /** Attaches to a replication that waits: the service then tries again at once. One that failed was requested again already. */
  async #retry(direction: SyncDirection, before: SyncDirectionStatus = PENDING): Promise<void> {
    const { state, refused_count, replication_id } = before;
    if (state === 'offline' || state === 'unauthorized' || state === 'error') {
      const { members } = wantedDocument(this.#ends, direction, this.#options);
      await this.#replicate(members);
    }
    if (refused_count > 0 && replication_id) await this.#replicate({ retry_refused: true, replication_id });
  }

  /** The status says how it went. If the attempt fails after a while, the response has begun with 200, and breaks off. */
  async #replicate(body: object): Promise<void> {
    await this.#service('POST', '/_replicate', { body }).catch((error: unknown) => {
      if (error instanceof SetteeError && isLater(error)) throw error;
    });
  }

  async #look(): Promise<Look> {
    const found = await Promise.all(
      this.#directions.map(async (direction) => [direction, await this.#read(direction)] as const),
    );
    if (!this.#follower.isClosed) this.#show(Object.fromEntries(found));
    const statuses = found.map(([, status]) => status);
    const attempts = statuses.flatMap(({ next_attempt }) => (next_attempt ? [Date.parse(next_attempt)] : []));
    return {
      isActive: statuses.some(({ state }) => state === 'active' || state === 'pending'),
      nextAttempt: attempts.length > 0 ? Math.min(...attempts) : undefined,
    };
  }

  /** Returns the status as it was if there is no response. */
  async #read(direction: SyncDirection): Promise<SyncDirectionStatus> {
    try {
      const entry = await this.#readEntry(documentId(this.#ends, direction));
      if (entry === undefined) return stoppedStatus();
      const status = statusOf(entry, !this.#caughtUp.has(direction));
      if (!isUnderWay(status.state)) this.#caughtUp.add(direction);
      return status;
    } catch {
      return this.#status[direction] ?? PENDING;
    }
  }

  async #readEntry(id: string): Promise<Entry | undefined> {
    const path = `/_scheduler/docs/_replicator/${encodeURIComponent(id)}`;
    try {
      return await this.#service<ReplicationDocumentEntry>('GET', path);
    } catch (error) {
      if (isRefusal(error, 404)) return undefined;
      // Only admins may read the list.
      if (!isRefusal(error, 401) && !isRefusal(error, 403)) throw error;
      const document = await getDocument(this.#replicator, id);
      return document && entryOf(document);
    }
  }

  #show(directions: Directions): void {
    const before = this.#status;
    const after = overall(directions);
    if (JSON.stringify(before) === JSON.stringify(after)) return;
    this.#status = after;
    for (const direction of this.#directions) this.#announce(direction, before[direction], after[direction]);
    this.#dispatch('status', after);
    for (const state of ['complete', 'stopped'] as const) {
      if (isEach(after, state) && !isEach(before, state)) this.#dispatch(state, after);
    }
  }

  #announce(direction: SyncDirection, before = PENDING, after = PENDING): void {
    const detail = { ...after, direction };
    const [first, ...others] = eventsBetween(before, after);
    if (first === 'change') this.#dispatch(first, detail);
    const known = new Set(before.refused.map(nameOf));
    for (const refused of after.refused) {
      if (!known.has(nameOf(refused))) this.#dispatch('denied', { ...refused, direction });
    }
    for (const type of first === 'change' ? others : [first]) if (type) this.#dispatch(type, detail);
  }

  #dispatch<Type extends keyof SyncEvents>(type: Type, detail: SyncEvents[Type]['detail']): void {
    // `CustomEvent` is not in the types of every platform.
    this.#events.dispatchEvent(Object.assign(new Event(type), { detail }));
  }
}

function nameOf({ id, rev }: RefusedDocument): string {
  return JSON.stringify([id, rev]);
}

function isEach({ push, pull }: SyncStatus, state: SyncState): boolean {
  return [push, pull].every((direction) => direction === undefined || direction.state === state);
}

function parseUrl(text: string | URL): URL {
  const url = urlOf(text);
  if (!url || !/^https?:$/.test(url.protocol) || !/[^/]/.test(url.pathname)) {
    throw new TypeError(`${text} is not the URL of a database, such as https://app.example/db/notes`);
  }
  url.pathname = url.pathname.replace(/\/+$/, '');
  url.hash = '';
  return url;
}

function urlOf(text: string | URL): URL | undefined {
  // That of a page, or of a worker.
  const location: unknown = Reflect.get(globalThis, 'location');
  try {
    return new URL(text, location === undefined ? undefined : String(location));
  } catch {
    return undefined;
  }
}

/** What the replication itself needs is refused there, too. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof SetteeError) || isLater(error)) throw error;
}

function isPassing(failure: unknown): boolean {
  return failure instanceof SetteeError ? isLater(failure) : failure instanceof TypeError;
}

function errorOf(failure: unknown): SyncError {
  if (!(failure instanceof SetteeError)) return { error: 'unknown_error', reason: String(failure) };
  const { error, reason } = failure;
  return { error, reason: typeof reason === 'string' ? reason : JSON.stringify(reason) };
}
