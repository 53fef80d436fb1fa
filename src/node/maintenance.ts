import { DatabaseError } from '../errors/database-error.ts';

/** What `verify` found in one database. */
export interface DatabaseFindings {
  readonly database: string;
  readonly documents: number;
  readonly pages: number;
  /** One sentence per finding; empty when all is well. */
  readonly damage: readonly string[];
}

/** A database that was copied. */
export interface CopiedDatabase {
  readonly database: string;
  readonly bytes: number;
}

/** Called with what has been done of what there is, in a unit of the callee's choice. */
export type OnProgress = (done: number, total: number) => void;

/**
 * Reads databases of a data folder and reports damage. Changes nothing.
 *
 * @param databases which ones; all of them where none is named. `not_found` for a name that is not there.
 */
export function verifyData(_options: {
  readonly dataFolder: string;
  readonly databases: readonly string[];
  readonly onProgress: OnProgress;
}): AsyncIterable<DatabaseFindings> {
  throw notYet('verify');
}

/** Copies every database of a data folder, each in a consistent state, into `target`, which must not be there yet. */
export function backupData(_options: {
  readonly dataFolder: string;
  readonly target: string;
  readonly onProgress: OnProgress;
}): AsyncIterable<CopiedDatabase> {
  throw notYet('backup');
}

/**
 * Makes the data folder `dataFolder`, which must not hold databases, from a backup. Each database's lineage is
 * extended, so that indexes and peers see that it went back in time.
 */
export function restoreData(_options: {
  readonly source: string;
  readonly dataFolder: string;
  readonly onProgress: OnProgress;
}): AsyncIterable<CopiedDatabase> {
  throw notYet('restore');
}

function notYet(command: string): DatabaseError {
  return new DatabaseError('not_implemented', `settee ${command} is not there yet; it comes with the next version.`);
}
