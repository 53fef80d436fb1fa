/** How operations on PostgreSQL fail, by the codes of its appendix "PostgreSQL Error Codes". */
import { DatabaseError, messageOf } from '../../base/errors/database-error.ts';
import { storageCorrupt, storageFailed, storageFull } from '../storage-errors.ts';

/**
 * What a failure says about its statement:
 * - `lost`: the connection broke, so the statement may have been carried out or not;
 * - `undone`: it was not carried out, and may be if it is sent again;
 * - `late`: it was not carried out within the time that the server gives a statement;
 * - `final`: it was not carried out, and would fail again.
 */
export type Failure = 'lost' | 'undone' | 'late' | 'final';

/** A transaction that lost against another one; the server that answers can't write (a standby after a fail-over), or is starting. */
const UNDONE = new Set(['40001', '40P01', '25006', '57P03', '53300', '55P03']);
/** The server is being stopped, or one of its processes has crashed. */
const ENDED = new Set(['57P01', '57P02', '57P05', '25P03']);
const CANCELLED = '57014';
/** Class 53: the disk or another resource of the server is used up. */
const FULL = new Set(['53100', '53400']);
const UNIQUE_VIOLATION = '23505';

/** Errors of the network, by their names in Node. */
const NETWORK = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOST\w+|ENET\w+|ENOTFOUND|EAI_\w+|ENOENT|EADDRNOTAVAIL)$/;
/** What the client says if the connection ended, or the server was silent for too long. Such errors have no code. */
const ENDED_MESSAGE = /connection (terminated|ended)|not queryable|timeout|socket disconnected/i;

export function failureOf(error: unknown): Failure {
  if (error instanceof DatabaseError) return 'final';
  const code = codeOf(error);
  if (code === undefined) return isOfNetwork(error) ? 'lost' : 'final';
  if (code.startsWith('08') || ENDED.has(code)) return 'lost';
  if (code === CANCELLED) return 'late';
  return UNDONE.has(code) ? 'undone' : 'final';
}

/** Returns whether the connection can't be used any more: it broke, or leads to a server that can't write. */
export function endsConnection(error: unknown): boolean {
  const failure = failureOf(error);
  return failure === 'lost' || (failure === 'undone' && ['25006', '57P03'].includes(codeOf(error) ?? ''));
}

function isOfNetwork(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return NETWORK.test(code) || (code === '' && ENDED_MESSAGE.test(error.message));
}

export function isUniqueViolation(error: unknown): boolean {
  return codeOf(error) === UNIQUE_VIOLATION;
}

/** Returns the SQLSTATE of an error that the server sent, which has a digit, unlike Node's `EPIPE`; undefined for other errors. */
function codeOf(error: unknown): string | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Maps a failure to an error. `what` is what was tried. */
export function toDatabaseError(error: unknown, file: string, what: string): DatabaseError {
  if (error instanceof DatabaseError) return error;
  const code = codeOf(error) ?? '';
  if (FULL.has(code)) return storageFull(file, error);
  // XX001 and XX002: damaged data, a damaged index.
  if (/^XX00[12]$/.test(code)) return storageCorrupt(file, `PostgreSQL says: ${messageOf(error)}`, error);
  return storageFailed(file, what, error);
}

/** The database server was not reached, or did not answer in time. What was tried was not done. */
export function storageUnreachable(what: string, seconds: number, cause: unknown): DatabaseError {
  return new DatabaseError(
    'storage_blocked',
    `The PostgreSQL server did not carry out ${what} within ${seconds} seconds (${messageOf(cause)}); nothing was written. Try again; if it goes on, check the server and the network`,
    { cause },
  );
}

/**
 * The database has gone back to an earlier state, without something that it had acknowledged as durable: numbers would be used twice, which readers
 * can't notice. `what` is the thing that is missing.
 */
export function storageRolledBack(what: string): DatabaseError {
  return new DatabaseError(
    'storage_rolled_back',
    `The PostgreSQL database has gone back to an earlier state: it lacks ${what}, which it had stored for good. Most likely a replica took over that had not received everything. Nothing is served from it. Make the former primary the primary again; or, to go on without the writes that are missing, restart every Settee server of this storage. Then replicate from clients that may have them, and make replicas synchronous (docs/node.md#replicas-of-postgresql)`,
  );
}

/** The server refuses every connection, and would refuse the next one, too. */
export function connectionRefused(place: string, cause: unknown): DatabaseError {
  return new DatabaseError(
    'storage_failed',
    `The storage at ${place} can't be used: ${messageOf(cause)}. ${adviceFor(cause)}`,
    { cause },
  );
}

function adviceFor(cause: unknown): string {
  const code = codeOf(cause);
  if (code === '3D000') return 'Create the database first (createdb), or name another one in the URL of the storage.';
  if (code === '42501')
    return 'The user needs the right to create a schema in the database (GRANT CREATE ON DATABASE), or to own the schema.';
  if (code?.startsWith('28') === true)
    return 'Check the user, the password (in the URL, in PGPASSWORD, or in the file that "passfile" names), and pg_hba.conf.';
  if (/\b(SSL|certificate|altnames)\b/i.test(messageOf(cause)))
    return 'A connection to another machine is encrypted, and its certificate is checked: name the issuer with "sslrootcert", or choose another "sslmode".';
  return 'Check the URL of the storage, that the server runs, and that this machine reaches it.';
}
