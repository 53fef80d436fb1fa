/** Reads from a database as of one moment. The functions here release their snapshots in every case. */

import { type MaybePromise, withEnd } from '../../base/shared/maybe-promise.ts';
import type { Database, Snapshot } from '../../database/store/contract.ts';
import type { Context } from './context.ts';

/** Runs `use` on a snapshot that lasts until its promise settles. */
export function withSnapshot<T>(
  context: Context,
  name: string,
  use: (snapshot: Snapshot, database: Database) => MaybePromise<T>,
): MaybePromise<T> {
  return context.useDatabase(name, (database) => {
    const snapshot = database.snapshot();
    return withEnd(
      () => use(snapshot, database),
      () => snapshot.release(),
    );
  });
}

/** A snapshot for a response that is still being read after its handler has ended. */
export interface SnapshotLease {
  readonly database: Database;
  readonly snapshot: Snapshot;
  /** May be called more than once. */
  release(): void;
}

async function openSnapshotLease(context: Context, name: string): Promise<SnapshotLease> {
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

/** Makes a response that releases the lease when it has been read. If making it fails, the lease is released at once. */
export async function withSnapshotLease<T>(
  context: Context,
  name: string,
  use: (lease: SnapshotLease) => Promise<T>,
): Promise<T> {
  const lease = await openSnapshotLease(context, name);
  try {
    return await use(lease);
  } catch (error) {
    lease.release();
    throw error;
  }
}
