/**
 * Follows the changes of a peer: with a continuous feed, whose rows arrive one by one, so that an edit is known at once and needs no request of
 * its own. Peers that have none, or whose responses are buffered on the way, get one long poll after another. If a host has the maximum number
 * of feeds, the server's feed of events of all its databases replaces it, or else polling now and then.
 */
import { isObject, ownMember } from '../../../base/json/objects.ts';
import type { Sequence } from '../../contract.ts';
import type { Answer } from '../client/answer.ts';
import { AttemptFailure } from '../client/attempt-failure.ts';
import type { PeerClient } from '../client/peer-client.ts';
import { LineCutter } from '../client/streamed-answers.ts';
import type { Change, ChangesPage, ChangesRequest } from '../contract.ts';
import {
  changesRequest,
  MAX_ROW_LENGTH,
  readChange,
  readChangesPage,
  readPending,
  readSequence,
} from './changes-request.ts';
import { SharedDbUpdates } from './shared-db-updates.ts';

/** The polling interval if no feed may be open. */
const LOOK_AGAIN_MS = 5_000;

type TakePage = (page: ChangesPage) => Promise<void>;

export class LiveFeeds {
  readonly #client: PeerClient;
  readonly #heartbeatMs: number;
  readonly #dbUpdates: SharedDbUpdates | undefined;
  /** The peer has no continuous feeds, or they don't arrive here. */
  #usesLongPolls = false;

  constructor(client: PeerClient, heartbeatMs: number) {
    this.#client = client;
    this.#heartbeatMs = heartbeatMs;
    const { feeds, events } = client.hostLimits ?? {};
    this.#dbUpdates = feeds && events && new SharedDbUpdates(client, { feeds, events }, heartbeatMs);
  }

  /** Resolves when the feed has ended, or was cut off: it may be another database then. */
  async follow(request: ChangesRequest, take: TakePage): Promise<void> {
    if (await this.#followAlone(request, take)) return;
    if (await this.#dbUpdates?.follow(request, (asked) => this.#look(asked), take)) return;
    // This attempt may have just shown that the server sends no events.
    if (await this.#followAlone(request, take)) return;
    await this.#client.pause(LOOK_AGAIN_MS);
    const page = await this.#look(request);
    if (page.changes.length > 0) await take(page);
  }

  /** Follows with its own feed. Returns false if no more feeds may be open at the host: the last permit is for the feed of events. */
  async #followAlone(request: ChangesRequest, take: TakePage): Promise<boolean> {
    const feeds = this.#client.hostLimits?.feeds;
    if (feeds?.tryAcquire(this.#dbUpdates?.needsPermit === true ? 1 : 0) === false) return false;
    await this.#followFeed(request, take).finally(() => feeds?.release());
    return true;
  }

  #look(request: ChangesRequest): Promise<ChangesPage> {
    const { limit } = request;
    const asked = changesRequest(request, { feed: 'normal', heartbeatMs: this.#heartbeatMs, limit });
    return readChangesPage(this.#client, asked, limit);
  }

  async #followFeed(request: ChangesRequest, take: TakePage): Promise<void> {
    if (!this.#usesLongPolls) return this.#readContinuous(request, take);
    for (let { since } = request; ; ) {
      const page = await this.#poll({ ...request, since });
      since = page.lastSeq;
      await take(page);
      if (page.changes.length === 0) return;
    }
  }

  #poll(request: ChangesRequest): Promise<ChangesPage> {
    const { limit } = request;
    const asked = changesRequest(request, { feed: 'longpoll', heartbeatMs: this.#heartbeatMs, limit });
    return readChangesPage(this.#client, { ...asked, isUncounted: true }, limit);
  }

  async #readContinuous(request: ChangesRequest, take: TakePage): Promise<void> {
    const asked = changesRequest(request, { feed: 'continuous', heartbeatMs: this.#heartbeatMs });
    await this.#client.ask({ ...asked, isUncounted: true }, async (answer) => {
      const reader = new LineReader(request, take);
      try {
        this.#usesLongPolls = !(await reader.read(answer));
      } catch (failure) {
        if (!(failure instanceof AttemptFailure) || this.#client.isEnded) throw failure;
        // An intermediary forwards responses only when they are complete.
        if (failure.isSilence && !reader.isAlive) this.#usesLongPolls = true;
        // Received changes are processed; the caller has to check its position before a retry. An invalid row is a failure if it is the next one.
        else if (failure.status === undefined ? !reader.isAlive : !reader.hasTaken) throw failure;
      } finally {
        await answer.discard();
      }
    });
  }
}

class LineReader {
  /** Data has arrived. */
  isAlive = false;
  /** Changes were taken. */
  hasTaken = false;
  readonly #limit: number;
  readonly #take: TakePage;
  #since: Sequence;

  constructor({ since, limit }: ChangesRequest, take: TakePage) {
    this.#limit = limit;
    this.#take = take;
    this.#since = since;
  }

  /** Returns false if the response is not a continuous feed. */
  async read(answer: Answer): Promise<boolean> {
    const cutter = new LineCutter(MAX_ROW_LENGTH);
    for (let pending = 0; ; ) {
      const piece = await answer.pullText();
      if (piece === undefined) return true;
      this.isAlive = true;
      const size = answer.sizeOf(piece);
      await answer.hold(size);
      pending += size;
      const lines = answer.useable(() => cutter.push(piece)).filter(isFilled);
      if (isList(lines[0] ?? beginningOf(cutter))) return false;
      if (lines.length === 0 && cutter.rest !== '') continue;
      // `take` counts the changes.
      answer.free(pending);
      pending = 0;
      await this.#takeLines(answer, lines);
    }
  }

  async #takeLines(answer: Answer, lines: readonly string[]): Promise<void> {
    for (let from = 0; from < lines.length; from += this.#limit) {
      const some = lines.slice(from, from + this.#limit);
      const page = answer.useable(() => toPage(some, this.#since));
      this.#since = page.lastSeq;
      await this.#take(page);
      this.hasTaken = true;
    }
  }
}

/** A longer text is no beginning any more: it was checked when it was short, and need not be joined each time. */
function beginningOf({ rest }: LineCutter): string {
  return rest.length <= MAX_BEGINNING_LENGTH ? rest : '';
}

const MAX_BEGINNING_LENGTH = 65_536;

function isFilled(line: string): boolean {
  return line.trim() !== '';
}

/** Whether the text begins a list: such a peer does not support continuous feeds. */
function isList(line: string): boolean {
  return /^\s*\{\s*"results"/.test(line);
}

function toPage(lines: readonly string[], since: Sequence): ChangesPage {
  const changes: Change[] = [];
  let lastSeq = since;
  let pending: number | undefined;
  for (const line of lines) {
    const row: unknown = JSON.parse(line);
    const last = isObject(row) ? ownMember(row, 'last_seq') : undefined;
    if (last === undefined) {
      const change = readChange(row);
      changes.push(change);
      lastSeq = change.seq;
    } else {
      lastSeq = readSequence(last);
      pending = isObject(row) ? readPending(ownMember(row, 'pending')) : undefined;
    }
  }
  return { changes, lastSeq, pending };
}
