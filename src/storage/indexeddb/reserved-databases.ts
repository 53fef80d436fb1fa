import { wrap } from 'idb';
import { pause } from '../../base/shared/clock.ts';
import { RESERVE_PARTS, type ReservedSpace, type ReservePart } from '../space-reserve.ts';
import { deleteDatabase } from './connection.ts';
import { toDatabaseError, withDeadline } from './indexeddb-errors.ts';

const MEBIBYTE = 2 ** 20;
/** The most that `getRandomValues` fills at a time. */
const BLOCK_BYTES = 65_536;
/** How long the browser may do its own work after a deletion, before the space in use is counted. */
const SETTLE_MS = 250;

interface ReservedDatabasesOptions {
  /** What the names of the store's databases begin with. */
  readonly prefix: string;
  /** The host's own by default. */
  readonly indexedDB?: IDBFactory | undefined;
  /** Milliseconds until an operation blocked by others fails; 3,000 by default. */
  readonly deadlineMs?: number | undefined;
}

/**
 * Space of a browser's quota that is reserved in one database for each part, whose version is its size in mebibytes: so a start only
 * has to list the databases. They are deleted as a whole, which gives space back in every browser. One more database, which is
 * empty, marks that a part was given up once. None has the name of a file of the store.
 */
export class ReservedDatabases implements ReservedSpace {
  readonly #prefix: string;
  readonly #factory: IDBFactory;
  readonly #deadlineMs: number;

  constructor({ prefix, indexedDB: factory = indexedDB, deadlineMs = 3000 }: ReservedDatabasesOptions) {
    this.#prefix = prefix;
    this.#factory = factory;
    this.#deadlineMs = deadlineMs;
  }

  async measure(): Promise<Record<ReservePart, number | undefined>> {
    const databases = await this.#within('listing the reserved space', this.#factory.databases());
    const versions = new Map(databases.map(({ name, version }) => [name, version ?? 0]));
    const absent = versions.has(this.#nameOf('mark')) ? 0 : undefined;
    const [deletions, upkeep] = RESERVE_PARTS.map((part) => {
      const version = versions.get(this.#nameOf(part));
      return version === undefined ? absent : version * MEBIBYTE;
    });
    return { deletions, upkeep };
  }

  async grow(part: ReservePart, bytes: number): Promise<void> {
    await this.#open(this.#nameOf(part), Math.ceil(bytes / MEBIBYTE));
  }

  async release(part: ReservePart): Promise<void> {
    // Without it, the next start would assume that the part was never whole, and permit all writes.
    await this.#open(this.#nameOf('mark'), 1).catch(() => undefined);
    await this.#delete(this.#nameOf(part));
  }

  /**
   * Chromium uses the size that its files had at the last commit, and its files shrink when deletions are processed: both happen when a
   * database is deleted. It does not count the space of a database without records.
   */
  async recount(): Promise<void> {
    const name = this.#nameOf('count');
    try {
      await this.#open(name, 1, false);
      await this.#delete(name);
      await pause(SETTLE_MS);
      await this.#open(name, 1, false);
      await this.#delete(name);
    } catch {
      // A caller that waits for room finds none.
    }
  }

  /** Opens a database and closes it; if it has a lower version, first adds what is missing, or changes nothing. */
  async #open(name: string, version: number, fills = name !== this.#nameOf('mark')): Promise<void> {
    const opening = this.#factory.open(name, version);
    opening.onupgradeneeded = ({ oldVersion }) => {
      const { result, transaction } = opening;
      if (!fills || transaction === null) return;
      if (oldVersion === 0) result.createObjectStore('space');
      const store = transaction.objectStore('space');
      for (let number = oldVersion; number < version; number += 1) store.put(unlikeAnything(), number);
    };
    const database = await this.#within(
      'reserving space',
      wrap(opening).then(() => opening.result),
      (late) => late.close(),
    );
    database.close();
  }

  #delete(name: string): Promise<void> {
    const what = 'giving up reserved space';
    return deleteDatabase(this.#factory, name, { file: name, what, deadlineMs: this.#deadlineMs });
  }

  async #within<T>(what: string, work: Promise<T>, late?: (value: T) => void): Promise<T> {
    const deadline = { file: 'reserve', what, deadlineMs: this.#deadlineMs };
    try {
      return await withDeadline(work, deadline, late);
    } catch (error) {
      throw toDatabaseError(error, deadline.file, what);
    }
  }

  #nameOf(what: ReservePart | 'mark' | 'count'): string {
    return `${this.#prefix}_reserve.${what}`;
  }
}

/** Returns a mebibyte that can't be compressed. Just above this size, Firefox keeps a value in a file of its own. */
function unlikeAnything(): Uint8Array {
  const bytes = new Uint8Array(MEBIBYTE + 1024);
  for (let from = 0; from < bytes.length; from += BLOCK_BYTES) {
    crypto.getRandomValues(bytes.subarray(from, Math.min(from + BLOCK_BYTES, bytes.length)));
  }
  return bytes;
}
