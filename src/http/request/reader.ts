/** Reading from a database as of one moment. Whoever opens a snapshot here has it released in every case. */
import type { Database, Snapshot } from '../../database/contract.ts';
import { type MaybePromise, withEnd } from '../../shared/maybe-promise.ts';
import type { Context } from './context.ts';

/** Runs `use` on a snapshot that lasts until its promise settles. */
export function withSnapshot<T>(
  context: Context,
  name: string,
  use: (snapshot: Snapshot, database: Database) => MaybePromise<T>,
): MaybePromise<T> {
  return context.services.registry.use(name, (database) => {
    const snapshot = database.snapshot();
    return withEnd(
      () => use(snapshot, database),
      () => snapshot.release(),
    );
  });
}

/** A snapshot for an answer that is still being read when its handler has ended. */
export interface Reader {
  readonly database: Database;
  readonly snapshot: Snapshot;
  /** May be called more than once. */
  release(): void;
}

export async function openReader(context: Context, name: string): Promise<Reader> {
  const lease = await context.services.registry.acquire(name);
  const { database } = lease;
  try {
    const snapshot = database.snapshot();
    let released = false;
    const release = () => {
      if (released) return;
      released = true;
      snapshot.release();
      lease.release();
    };
    return { database, snapshot, release };
  } catch (error) {
    lease.release();
    throw error;
  }
}

/** Makes an answer of an open reader; the reader is released where that fails. */
export async function withReader<T>(context: Context, name: string, use: (reader: Reader) => Promise<T>): Promise<T> {
  const reader = await openReader(context, name);
  try {
    return await use(reader);
  } catch (error) {
    reader.release();
    throw error;
  }
}
