/** The newest changes of each database: feeds that waited all want the same ones when they are woken. */
import type { ChangeRow, Database } from '../store/contract.ts';

/** The changes behind `since` in a state of a database, which its sequence numbers name. */
interface Place {
  readonly since: number;
  readonly updateSeq: number;
  readonly purgeSeq: number;
}

/** Keeps what was read last as long as the database is open: no more rows than come in one piece. */
export class NewestChanges {
  readonly #newest = new WeakMap<Database, { readonly place: Place; readonly rows: readonly ChangeRow[] }>();

  /** All changes there; undefined where they must be read. */
  get(database: Database, { since, updateSeq, purgeSeq }: Place): readonly ChangeRow[] | undefined {
    const newest = this.#newest.get(database);
    if (newest?.place.since !== since) return undefined;
    return newest.place.updateSeq === updateSeq && newest.place.purgeSeq === purgeSeq ? newest.rows : undefined;
  }

  /** Takes the first rows that were read there, where those are all. */
  note(database: Database, place: Place, rows: readonly ChangeRow[]): void {
    if (rows.at(-1)?.seq === place.updateSeq) this.#newest.set(database, { place, rows });
  }
}
