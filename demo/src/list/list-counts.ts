/** How many documents a list has, and how many come before its page: from live reductions, unless it is already known. */
import { afterAll, type CountEvent, type Database } from '../data/database.ts';
import type { Connections } from '../following/connections.ts';
import { Feed } from '../following/feed.ts';

export interface ListPlace {
  /** How the listed ids begin. */
  readonly prefix: string;
  /** The page begins at this id; undefined: at the first one. */
  readonly from: string | undefined;
  /** How many there are before, and in all, as they were read. */
  readonly before: number;
  readonly total: number;
}

/** The prefix of a place that is counted elsewhere; no id has it. */
const KNOWN = '\0';

type Count = 'before' | 'total';

export class ListCounts {
  before = 0;
  total = 0;
  readonly #database: Database;
  readonly #connections: Connections;
  readonly #onChange: () => void;
  readonly #feeds: Feed<CountEvent>[] = [];
  #place: ListPlace = { prefix: '', from: undefined, before: 0, total: 0 };
  /** How many the whole database has; undefined: not known yet. */
  #documents: number | undefined;
  #isFollowing = false;
  /** What the feeds count. */
  #followed = '';

  constructor(database: Database, connections: Connections, onChange: () => void) {
    this.#database = database;
    this.#connections = connections;
    this.#onChange = onChange;
  }

  /** What is listed now. */
  begin(place: ListPlace): void {
    this.#place = place;
    this.before = place.before;
    // One number for the whole page: what was read a moment ago may differ from what the page shows elsewhere.
    this.total = place.prefix === '' ? (this.#documents ?? place.total) : place.total;
    this.#follow();
  }

  /** What is listed is all known, and nothing needs to be counted. */
  know(before: number, total: number): void {
    this.#place = { prefix: KNOWN, from: undefined, before, total };
    this.before = before;
    this.total = total;
    this.#follow();
  }

  /** How many the whole database has, which the page learns anyway. */
  set documents(documents: number) {
    this.#documents = documents;
    if (this.#place.prefix === '') this.#set('total', documents);
  }

  set isFollowing(isFollowing: boolean) {
    this.#isFollowing = isFollowing;
    this.#follow();
  }

  #follow(): void {
    const { prefix, from } = this.#place;
    const wanted: (readonly [Count, string])[] = [];
    if (this.#isFollowing && from !== undefined) wanted.push(['before', this.#database.countAddress(prefix, from)]);
    if (this.#isFollowing && prefix !== '' && prefix !== KNOWN) {
      wanted.push(['total', this.#database.countAddress(prefix, afterAll(prefix))]);
    }
    const followed = JSON.stringify(wanted);
    if (followed === this.#followed) return;
    this.#followed = followed;
    for (const feed of this.#feeds.splice(0)) feed.close();
    for (const [count, address] of wanted) this.#open(count, address);
  }

  #open(count: Count, address: string): void {
    const feed = new Feed<CountEvent>(() => address, this.#connections, {
      onEvent: ({ rows }) => this.#set(count, rows[0]?.value ?? 0),
    });
    this.#feeds.push(feed);
    feed.open();
  }

  #set(count: Count, value: number): void {
    if (this[count] === value) return;
    this[count] = value;
    this.#onChange();
  }
}
