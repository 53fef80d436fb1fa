/**
 * Follows the changes of a peer: with a continuous feed, whose rows come one by one, so that an edit is known at once and needs no request of
 * its own. From peers that have none, or whose answers are held back on the way, with one long poll after another. Where a host has as many feeds
 * as it may, by what the server tells of all its databases, and else by asking now and then.
 */
import { isObject, ownMember } from '../../../base/json/objects.ts';
import type { Sequence } from '../../contract.ts';
import type { Answer } from '../client/answer.ts';
import { LineCutter } from '../client/answered-lines.ts';
import { AttemptFailure } from '../client/attempt-failure.ts';
import type { PeerClient } from '../client/peer-client.ts';
import type { Change, ChangesPage, ChangesRequest } from '../contract.ts';
import { readChangesPage } from './changes-page.ts';
import { changesRequest, LONGEST_ROW, readChange, readPending, readSequence } from './changes-request.ts';
import { SharedDbUpdates } from './shared-db-updates.ts';

/** How often changes are asked for where no feed may be open. */
const LOOK_AGAIN_MS = 5_000;

type TakePage = (page: ChangesPage) => Promise<void>;

export class LiveFeeds {
  readonly #client: PeerClient;
  readonly #heartbeatMs: number;
  readonly #news: SharedDbUpdates | undefined;
  /** The peer has no continuous feeds, or they don't reach us. */
  #usesLongPolls = false;

  constructor(client: PeerClient, heartbeatMs: number) {
    this.#client = client;
    this.#heartbeatMs = heartbeatMs;
    const { places } = client;
    const { feeds, news } = places ?? {};
    this.#news = feeds && news && new SharedDbUpdates(client, { feeds, news }, heartbeatMs);
  }

  /** Resolves when the feed has ended, or broken off: the database may be another one then. */
  async follow(request: ChangesRequest, take: TakePage): Promise<void> {
    if (await this.#followAlone(request, take)) return;
    if (await this.#news?.follow(request, (asked) => this.#look(asked), take)) return;
    // That the server tells no news may have turned out just now.
    if (await this.#followAlone(request, take)) return;
    await this.#client.pause(LOOK_AGAIN_MS);
    const page = await this.#look(request);
    if (page.changes.length > 0) await take(page);
  }

  /** With a feed of its own. False where no more may be open at the host: the last place is for the news. */
  async #followAlone(request: ChangesRequest, take: TakePage): Promise<boolean> {
    const feeds = this.#client.places?.feeds;
    if (feeds?.tryEnter(this.#news?.needsPlace === true ? 1 : 0) === false) return false;
    await this.#followFeed(request, take).finally(() => feeds?.leave());
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
        // Something on the way gives answers on when they are complete.
        if (failure.isSilence && !reader.isAlive) this.#usesLongPolls = true;
        // What came is dealt with; whoever asks again has to look first where he is. A row that makes no sense is a failure where it is the next.
        else if (failure.status === undefined ? !reader.isAlive : !reader.hasTaken) throw failure;
      } finally {
        await answer.discard();
      }
    });
  }
}

class LineReader {
  /** Something has come. */
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

  /** False where what comes is no continuous feed. */
  async read(answer: Answer): Promise<boolean> {
    const cutter = new LineCutter(LONGEST_ROW);
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
      // Who takes the changes counts them.
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

/** What is longer is no beginning any more: it was looked at when it was short, and need not be put together each time. */
function beginningOf({ rest }: LineCutter): string {
  return rest.length <= LONGEST_BEGINNING ? rest : '';
}

const LONGEST_BEGINNING = 65_536;

function isFilled(line: string): boolean {
  return line.trim() !== '';
}

/** How an answer begins that is a list, since the peer knows no continuous feeds. */
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
