import { unwrap, wrap } from 'idb';
import type { DatabaseError } from '../../base/errors/database-error.ts';
import type { FileLife } from '../open-files.ts';
import {
  connectionLost,
  storageDeleted,
  storageExists,
  storageMissing,
  storageNewerFormat,
} from '../storage-errors.ts';
import { claimNewFile } from './file-claim.ts';
import { type Deadline, nameOf, toDatabaseError, withDeadline } from './indexeddb-errors.ts';
import { asFileDatabase, createStores, type FileDatabase, INDEXEDDB_FORMAT } from './schema.ts';

/** Why an open file was lost: someone requested its deletion or upgrade, or the browser force-closed it. */
export type LossReason = 'asked' | 'forced';

interface ConnectionRequest {
  readonly factory: IDBFactory;
  readonly file: string;
  /** Name of the file's IndexedDB database. */
  readonly databaseName: string;
  readonly mode: 'create' | 'open';
  readonly deadlineMs: number;
}

interface Connection {
  readonly database: FileDatabase;
  /** Whether the file was just created, with its first claim. */
  readonly isNew: boolean;
}

/**
 * Opens the database of a file. IndexedDB has one call to open or create; the version change transaction shows which
 * of the two it would be, and is aborted if that is not what the caller requested.
 */
export async function openConnection(request: ConnectionRequest): Promise<Connection> {
  const { factory, file, databaseName, mode, deadlineMs } = request;
  const opening = factory.open(databaseName, INDEXEDDB_FORMAT);
  let isNew = false;
  let isGivenUp = false;
  opening.addEventListener('upgradeneeded', ({ oldVersion }) => {
    isNew = oldVersion === 0;
    const { transaction } = opening;
    if (transaction === null) return;
    if ((isNew && mode === 'open') || isGivenUp) {
      transaction.abort();
      return;
    }
    createStores(transaction, oldVersion);
    if (isNew) claimNewFile(transaction);
  });
  let database: FileDatabase;
  try {
    const deadline = { file, what: 'opening it', deadlineMs };
    database = await withDeadline(databaseOf(opening), deadline, (late) => late.close());
  } catch (error) {
    isGivenUp = true;
    if (isNew && mode === 'open') throw storageMissing(file);
    if (nameOf(error) === 'VersionError') throw await newerFormat(factory, file, databaseName);
    throw toDatabaseError(error, file, 'opening it');
  }
  if (mode === 'create' && !isNew) {
    database.close();
    throw storageExists(file);
  }
  return { database, isNew };
}

/**
 * Ends `life` when the browser or another tab closes the connection: deletion, an upgrade by newer code, site data
 * cleared, a failing disk. The connection is closed at once, so that others that wait for it can continue. `onLost` is called
 * if the file was still open; with `forced` if the browser closed it by itself, as when it clears the site's data.
 */
export function watchConnection(
  file: string,
  database: FileDatabase,
  life: FileLife,
  onLost?: (why: LossReason) => void,
): void {
  const raw = unwrap(database);
  const lose = (refusal: () => DatabaseError, why: LossReason): void => {
    const { isOpen } = life;
    life.refuse(refusal);
    if (isOpen) onLost?.(why);
  };
  raw.addEventListener('versionchange', (event) => {
    raw.close();
    const isDeleted = event.newVersion === null;
    lose(() => (isDeleted ? storageDeleted(file) : connectionLost(file)), 'asked');
  });
  raw.addEventListener('close', () => lose(() => connectionLost(file), 'forced'));
}

/** Deletes the database; does nothing if there is none. After the deadline the deletion still happens once it can. */
export async function deleteDatabase(factory: IDBFactory, databaseName: string, deadline: Deadline): Promise<void> {
  try {
    await withDeadline(wrap(factory.deleteDatabase(databaseName)), deadline);
  } catch (error) {
    throw toDatabaseError(error, deadline.file, deadline.what);
  }
}

async function databaseOf(request: IDBOpenDBRequest): Promise<FileDatabase> {
  await wrap(request);
  return asFileDatabase(request.result);
}

async function newerFormat(factory: IDBFactory, file: string, databaseName: string): Promise<DatabaseError> {
  const found = (await factory.databases()).find(({ name }) => name === databaseName)?.version;
  return storageNewerFormat(file, found ?? INDEXEDDB_FORMAT + 1, INDEXEDDB_FORMAT);
}
