/** The newest changes of each database: feeds that waited all need the same ones when they are woken. */
import type { ChangeRow, Database } from '../store/contract.ts';

/** The changes after `since` in a state of a database, which its sequence numbers identify. */
interface Place {
  readonly since: number;
  readonly updateSeq: number;
  readonly purgeSeq: number;
}

/** Keeps the latest rows that were read, as long as the database is open: no more rows than arrive in one batch. */
export class NewestChanges {
  readonly #newest = new WeakMap<Database, { readonly place: Place; readonly rows: readonly ChangeRow[] }>();

  /** Returns all changes at that place; undefined if they must be read. */
  get(database: Database, { since, updateSeq, purgeSeq }: Place): readonly ChangeRow[] | undefined {
    const newest = this.#newest.get(database);
    if (newest?.place.since !== since) return undefined;
    return newest.place.updateSeq === updateSeq && newest.place.purgeSeq === purgeSeq ? newest.rows : undefined;
  }

  /** Keeps the first rows that were read at that place, if they are all of its rows. */
  note(database: Database, place: Place, rows: readonly ChangeRow[]): void {
    if (rows.at(-1)?.seq === place.updateSeq) this.#newest.set(database, { place, rows });
  }
}
