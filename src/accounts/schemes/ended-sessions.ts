/**
 * The sessions that were ended before they expired (docs/http/accounts.md#sessions). A session is a signed cookie, so it would stay valid for
 * everyone who has a copy of it. The stored data is bounded: for each user the ids of the latest ended sessions, and a time up to which
 * all cookies of that user are void; for users whose ended sessions have all expired only one such time, shared by everyone.
 */
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import type { Clock } from '../../base/shared/clock.ts';
import type { Registry } from '../../database/registry/contract.ts';

/** The content of a session's cookie. */
export interface Session {
  readonly name: string;
  /** The same in all cookies of a session. */
  readonly id: string;
  /** Seconds since the epoch at which the cookie was made. */
  readonly madeAt: number;
}

export interface EndedSessionsOptions {
  /** Where ended sessions are stored. */
  readonly notes: Pick<Registry, 'notes' | 'keepNote'>;
  readonly clock: Clock;
  /** See `sessionSeconds`. */
  readonly lastsSeconds: () => number;
}

interface EndedOfUser {
  /** Cookies made up to this time are void. Seconds since the epoch. */
  until: number;
  /** When each session was ended, in seconds since the epoch, by id: the first that was ended comes first. */
  readonly ids: Map<string, number>;
}

const PREFIX = 'ended-sessions/';
/** The key of the time for everyone. No user has an empty name. */
const EVERYBODY = '';
/** Ended sessions per user that are stored by id. */
const MAX_IDS = 500;
/** Users that are forgotten for each session that is ended. */
const FORGOTTEN_AT_ONCE = 2;

export class EndedSessions {
  readonly #options: EndedSessionsOptions;
  /** By name: the user who ended a session last comes last. */
  #users = new Map<string, EndedOfUser>();
  #untilForAll = 0;
  /** The notes that were read: others take their place if another process has written some. */
  #read: ReadonlyMap<string, string>;

  constructor(options: EndedSessionsOptions) {
    this.#options = options;
    this.#read = options.notes.notes;
    this.#load();
  }

  #load(): void {
    const { notes } = this.#options.notes;
    this.#read = notes;
    const kept: [string, EndedOfUser][] = [];
    for (const [note, text] of notes) {
      if (!note.startsWith(PREFIX)) continue;
      const name = note.slice(PREFIX.length);
      const ended = parseEnded(text);
      if (name === EVERYBODY) this.#untilForAll = ended.until;
      else kept.push([name, ended]);
    }
    kept.sort(([, one], [, other]) => lastOf(one) - lastOf(other));
    this.#users = new Map(kept);
  }

  has({ name, id, madeAt }: Session): boolean {
    if (this.#options.notes.notes !== this.#read) this.#load();
    const ended = this.#users.get(name);
    return madeAt <= this.#until(ended) || ended?.ids.has(id) === true;
  }

  /** Returns the time for a cookie made now for that user, in seconds since the epoch: never one at which it would be void. */
  timeOfNew(name: string): number {
    return Math.max(this.#now(), this.#until(this.#users.get(name)) + 1);
  }

  /** A time in the future is from before the clock was set back. It must not lock everyone out. */
  #until(ended: EndedOfUser | undefined): number {
    const until = Math.max(this.#untilForAll, ended?.until ?? 0);
    return until === 0 || until > this.#now() ? 0 : until;
  }

  #now(): number {
    return Math.floor(this.#options.clock.now() / 1000);
  }

  /** Ends the session at once; resolves when that would survive a crash. If it can't be stored the session stays valid. */
  async end({ name, id }: Pick<Session, 'name' | 'id'>): Promise<void> {
    const now = this.#now();
    const ended = this.#users.get(name) ?? { until: 0, ids: new Map<string, number>() };
    ended.ids.set(id, now);
    this.#users.delete(name);
    this.#users.set(name, ended);
    this.#shorten(ended, now);
    await this.#keep(name, ended).catch((error) => {
      ended.ids.delete(id);
      throw error;
    });
    // The session is over for good by now; others are forgotten the next time.
    await this.#forgetOld(now).catch(() => undefined);
  }

  /** Up to the time that replaces the ids all cookies are void, even if the setting is raised later. */
  #shorten(ended: EndedOfUser, now: number): void {
    for (const [id, at] of ended.ids) {
      if (ended.ids.size <= MAX_IDS && !this.#isOver(at, now)) return;
      ended.ids.delete(id);
      ended.until = Math.max(ended.until, at);
    }
  }

  async #forgetOld(now: number): Promise<void> {
    const old = [...take(this.#users, FORGOTTEN_AT_ONCE)].filter(([, ended]) => this.#isOver(lastOf(ended), now));
    if (old.length === 0) return;
    this.#untilForAll = Math.max(this.#untilForAll, ...old.map(([, ended]) => lastOf(ended)));
    for (const [name] of old) this.#users.delete(name);
    await this.#keep(EVERYBODY, { until: this.#untilForAll, ids: new Map() });
    for (const [name] of old) {
      // A new entry may have been added in the meantime.
      if (!this.#users.has(name)) await this.#options.notes.keepNote(`${PREFIX}${name}`, undefined);
    }
  }

  /** Cookies from the future, made before the clock was set back, are valid as long as others: hence twice the time. */
  #isOver(endedAt: number, now: number): boolean {
    return Math.abs(now - endedAt) > 2 * this.#options.lastsSeconds();
  }

  #keep(name: string, { until, ids }: EndedOfUser): Promise<void> {
    return this.#options.notes.keepNote(`${PREFIX}${name}`, JSON.stringify({ until, ids: Object.fromEntries(ids) }));
  }
}

function lastOf({ until, ids }: EndedOfUser): number {
  let last = until;
  for (const at of ids.values()) last = Math.max(last, at);
  return last;
}

function* take<K, V>(map: ReadonlyMap<K, V>, most: number): Iterable<[K, V]> {
  for (const entry of map) {
    if (most-- === 0) return;
    yield entry;
  }
}

function parseEnded(text: string): EndedOfUser {
  const value: unknown = JSON.parse(text);
  const members: JsonObject = isObject(value) ? value : {};
  const until = ownMember(members, 'until');
  const ids = ownMember(members, 'ids');
  const entries = Object.entries(isObject(ids) ? ids : {}).filter((entry): entry is [string, number] => {
    return typeof entry[1] === 'number';
  });
  entries.sort(([, one], [, other]) => one - other);
  return { until: typeof until === 'number' ? until : 0, ids: new Map(entries) };
}
