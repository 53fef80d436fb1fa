import type { SeededRandom } from '../seeded-random.ts';
import { type FeedFilter, lastRow, shownRow } from './feed-filters.ts';

/** A feed broke off, or its service has died: what came before counts, and the follower continues after it. */
export class BrokenOff extends Error {}

/** A service from one start to its death; requests to it then fail with `BrokenOff`. */
export interface FollowedService {
  /** Requests changes; a POST if there is a body. */
  changes(query: string, body: string | undefined): Promise<FollowedFeed>;
}

export interface FollowedFeed {
  readonly status: number;
  /** Undefined at the end, in order. */
  pull(): Promise<Uint8Array | undefined>;
  /** Leaves it. */
  leave(): Promise<void>;
}

export const FEED_KINDS = ['normal', 'longpoll', 'continuous', 'eventsource'] as const;
export type FeedKind = (typeof FEED_KINDS)[number];

/** The final content of a database, as returned by `seeAll`. */
type Documents = Readonly<Record<string, { readonly seq: number; readonly leaves: readonly string[] }>>;

interface FollowerParts {
  /** Undefined for one that changes from one kind to another. */
  readonly kind: FeedKind | undefined;
  readonly filter: FeedFilter;
  readonly random: SeededRandom;
}

/** A client that wants to know all of `_changes`: it goes on from feed to feed, each of which it leaves or which is cut off somewhere. */
export class Follower {
  readonly #kind: FeedKind | undefined;
  readonly #filter: FeedFilter;
  readonly #random: SeededRandom;
  /** The last report for each document. */
  readonly #known = new Map<string, string>();
  readonly #problems: string[] = [];
  #since = 0;
  #progress: () => void = () => undefined;

  constructor({ kind, filter, random }: FollowerParts) {
    this.#kind = kind;
    this.#filter = filter;
    this.#random = random;
  }

  /** Starts one feed after another, each on the present service; `next` resolves to undefined when that is enough. */
  async follow(next: () => Promise<FollowedService | undefined>): Promise<void> {
    for (let service = await next(); service !== undefined; service = await next()) {
      try {
        await this.#read(service);
      } catch (error) {
        if (!(error instanceof BrokenOff)) throw error;
      }
    }
  }

  /** Resolves when everything has been reported. */
  async isComplete(documents: Documents): Promise<void> {
    while (this.missing(documents).length > 0) {
      await new Promise<void>((resolve) => {
        this.#progress = resolve;
      });
    }
  }

  /** What was not reported, or was reported out of order or twice: a sentence for each. */
  missing(documents: Documents): string[] {
    const findings = [...this.#problems];
    for (const [name, stored] of Object.entries(documents)) {
      const wanted = lastRow(this.#filter, name, stored);
      const known = this.#known.get(name);
      if (wanted === undefined || known === wanted) continue;
      findings.push(`${this.#kind ?? 'any feed'} ${this.#filter.query}: ${name} ${known}, not ${wanted}`);
    }
    return findings;
  }

  async #read(service: FollowedService): Promise<void> {
    const random = this.#random;
    const kind = this.#kind ?? random.oneOf(FEED_KINDS) ?? 'normal';
    const limit = random.chance(30) ? `&limit=${random.between(1, 5)}` : '';
    const query = `feed=${kind}&since=${this.#since}&heartbeat=60000&style=all_docs${limit}&${this.#filter.query}`;
    const feed = await service.changes(query, this.#filter.body);
    if (feed.status !== 200) this.#problems.push(`${query} was answered with ${feed.status}`);
    // Some feeds are left after some rows.
    else await this.#readRows(feed, kind, random.chance(50) ? random.between(1, 10) : Number.POSITIVE_INFINITY, query);
    await feed.leave();
  }

  async #readRows(feed: FollowedFeed, kind: FeedKind, most: number, query: string): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    let rows = 0;
    let last = this.#since;
    let hasEnd = kind === 'eventsource';
    for (let chunk = await feed.pull(); chunk !== undefined; chunk = await feed.pull()) {
      const lines = (text + decoder.decode(chunk, { stream: true })).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const end = /"last_seq":(\d+)/.exec(line)?.[1];
        hasEnd ||= end !== undefined;
        if (end !== undefined) this.#since = this.#goneOn(Number(end), last - 1, query);
        const row = /^(?:data: )?(\{"seq".*\}),?$/.exec(line)?.[1];
        if (row === undefined) continue;
        last = this.#take(row, last, query);
        rows += 1;
        if (rows === most) return;
      }
    }
    if (!hasEnd || text !== '') this.#problems.push(`${query} ended as if it were whole: ${JSON.stringify(text)}`);
  }

  #take(row: string, last: number, query: string): number {
    const { seq, id: name, changes, deleted = false } = JSON.parse(row);
    this.#known.set(name, shownRow(seq, changes[0].rev, deleted));
    this.#since = this.#goneOn(seq, last, query);
    this.#progress();
    return seq;
  }

  #goneOn(seq: number, last: number, query: string): number {
    if (seq <= last) this.#problems.push(`${seq} came behind ${last} in ${query}`);
    return seq;
  }
}
