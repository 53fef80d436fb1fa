/**
 * Follows the changes of a database without its own feed: one feed of the server (`_db_updates`, docs/http/changes.md#database-events) reports which
 * of its databases have changed, and wakes all replications with it. If the server has no such feed, or not for this user, there are no events.
 */
import { isObject, ownMember } from '../../../base/json/objects.ts';
import { startBackgroundTimer } from '../../../base/shared/clock.ts';
import type { DatabaseEvent, DatabaseEvents, FeedPermits } from '../../connection-limits.ts';
import type { Sequence } from '../../contract.ts';
import type { Answer } from '../client/answer.ts';
import type { PeerClient } from '../client/peer-client.ts';
import { LineCutter } from '../client/streamed-answers.ts';
import type { ChangesPage, ChangesRequest } from '../contract.ts';

/** A replication without events for this long looks at the source again. */
const MAX_QUIET_MS = 60_000;
/** How often the feed may end before it has reported anything. */
const MAX_FAILURES = 3;
/** Maximum length of an event in characters. */
const MAX_EVENT_LENGTH = 65_536;
const REFUSALS: readonly number[] = [400, 401, 403, 404, 405, 500, 501];

interface SharedFeeds {
  readonly feeds: FeedPermits;
  readonly events: DatabaseEvents;
}

type Look = (request: ChangesRequest) => Promise<ChangesPage>;
type TakePage = (page: ChangesPage) => Promise<void>;

export class SharedDbUpdates {
  readonly #client: PeerClient;
  readonly #shared: SharedFeeds;
  readonly #path: string;
  readonly #name: string;
  #failures = 0;

  constructor(client: PeerClient, shared: SharedFeeds, heartbeatMs: number) {
    this.#client = client;
    this.#shared = shared;
    // Seconds for 1.x servers and for Settee, milliseconds for later ones. Only the latter know `since`; the others report what comes.
    const seconds = Math.max(1, Math.floor(heartbeatMs / 1_000));
    this.#path = `/_db_updates?feed=continuous&heartbeat=${heartbeatMs}&timeout=${seconds}&since=now`;
    this.#name = nameOf(client.name);
  }

  /** There is no reader of the events yet, and this replication may be one. */
  get needsPermit(): boolean {
    return !this.#shared.events.isRead && !this.#isRefused;
  }

  /** The server sends this replication no events, or they don't arrive. */
  get #isRefused(): boolean {
    return this.#failures >= MAX_FAILURES;
  }

  /**
   * Passes what `look` finds to `take`, now and whenever there may be more. Returns false if no events are available at present; true when the feed
   * has ended, after a long time without events, or if it may be another database.
   */
  async follow(request: ChangesRequest, look: Look, take: TakePage): Promise<boolean> {
    const { limit } = request;
    for (let since: Sequence = request.since; this.#begin(); ) {
      const wait = this.#await();
      try {
        const page = await look({ ...request, since });
        since = page.lastSeq;
        if (page.changes.length > 0) await take(page);
        if (page.changes.length >= limit) continue;
        if ((await wait.event) !== 'updated') return !this.#isRefused;
      } finally {
        wait.end();
      }
    }
    return false;
  }

  /** Reads the events for all if there is no reader. Returns false if that is not possible. */
  #begin(): boolean {
    const { events, feeds } = this.#shared;
    if (events.isRead) return true;
    if (this.#isRefused || !feeds.tryAcquire()) return false;
    events.begin();
    void this.#read()
      // Waiting replications request changes next, and find out what is wrong.
      .catch(() => undefined)
      .finally(() => {
        feeds.release();
        events.end();
      });
    return true;
  }

  /** Waits for the next event, from now on. */
  #await(): { readonly event: Promise<DatabaseEvent>; end(): void } {
    const ends: (() => void)[] = [];
    const event = new Promise<DatabaseEvent>((resolve, reject) => {
      ends.push(
        this.#shared.events.next(this.#name, resolve),
        startBackgroundTimer(MAX_QUIET_MS, () => resolve('ended')),
        this.#client.onEnd(reject),
      );
    });
    // There may be no waiter when it fails.
    event.catch(() => undefined);
    return {
      event,
      end: () => {
        for (const end of ends) end();
      },
    };
  }

  async #read(): Promise<void> {
    const request = {
      method: 'GET',
      path: this.#path,
      ofServer: true,
      isUncounted: true,
      retries: 0,
      accepts: REFUSALS,
    };
    this.#failures++;
    await this.#client.ask(request, async (answer) => {
      try {
        if (answer.status >= 300) this.#failures = MAX_FAILURES;
        else await this.#emitAll(answer);
      } finally {
        await answer.discard();
      }
    });
  }

  async #emitAll(answer: Answer): Promise<void> {
    const { events } = this.#shared;
    // Covers what happened before the feed began.
    events.emit('updated');
    const cutter = new LineCutter(MAX_EVENT_LENGTH);
    for (;;) {
      const piece = await answer.pullText();
      if (piece === undefined) return;
      this.#failures = 0;
      const lines = answer.useable(() => cutter.push(piece));
      for (const line of lines) {
        if (line.trim() === '') continue;
        const found = answer.useable(() => readEvent(line));
        if (found !== undefined) events.emit(found.event, found.name);
      }
    }
  }
}

/** Undefined for an event that concerns no database. */
function readEvent(line: string): { readonly name: string; readonly event: DatabaseEvent } | undefined {
  const event: unknown = JSON.parse(line);
  const name = isObject(event) ? ownMember(event, 'db_name') : undefined;
  if (!isObject(event) || typeof name !== 'string') return undefined;
  return { name, event: ownMember(event, 'type') === 'updated' ? 'updated' : 'replaced' };
}

function nameOf(url: string): string {
  const last = url.slice(url.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
