import type { DatabaseError } from '../../base/errors/database-error.ts';
import { storageRolledBack } from './postgres-errors.ts';

/**
 * What the database of a storage has acknowledged as stored for good, as far as this process knows. A database that lacks some of it has gone back to
 * an earlier state: a replica took over that had not received everything. Then nothing of the storage is used any more by this process, since numbers
 * would be used twice, which readers can't notice.
 */
export class DurableHistory {
  /** The last epoch that this process has had of each file, by the file's id. */
  readonly #epochs = new Map<string, number>();
  /** How often the storage has changed its owner. */
  #term = 0;
  #rollback: DatabaseError | undefined;
  /** Called once, when something is found to be missing. */
  onRollback: (error: DatabaseError) => void = () => undefined;

  /** What is missing, as an error; undefined if nothing is known to be. */
  get rollback(): DatabaseError | undefined {
    return this.#rollback;
  }

  mustBeWhole(): void {
    if (this.#rollback !== undefined) throw this.#rollback;
  }

  /** To be called with the epoch that an opening of a file has found or made. Fails with `storage_rolled_back` if it is not higher than the last one. */
  mustBeNewEpoch(file: string, id: string, epoch: number): void {
    if (epoch <= (this.#epochs.get(id) ?? 0)) throw this.lacks(`an opening of the file "${file}"`);
  }

  noteEpoch(id: string, epoch: number): void {
    this.#epochs.set(id, epoch);
  }

  /** Fails with `storage_rolled_back` if a later one was seen. */
  noteTerm(term: number): void {
    this.mustBeWhole();
    if (term < this.#term) throw this.lacks('the last change of the server that owns the storage');
    this.#term = term;
  }

  /** Notes that the database lacks something, and returns the error to fail with. */
  lacks(what: string): DatabaseError {
    if (this.#rollback !== undefined) return this.#rollback;
    this.#rollback = storageRolledBack(what);
    this.onRollback(this.#rollback);
    return this.#rollback;
  }
}
