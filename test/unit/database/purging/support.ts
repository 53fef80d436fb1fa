import type { PurgeRules } from '../../../../src/database/purging/purge-rules.ts';
import { purgeOld } from '../../../../src/database/purging/purge-run.ts';
import type { StoredDatabase } from '../../../../src/database/store/stored-database.ts';
import { type Bench, id, put, rev } from '../store/harness.ts';

/** Steps for automatic purges of a database whose clock stands still. */

export const DAY = 86_400;
/** Tombstones stay for a hundred days, and silent peers count for two hundred. */
export const RULES: PurgeRules = { ttl: 100 * DAY, peerTtl: 200 * DAY, ignored: new Set() };

export function passDays(bench: Bench, days: number): void {
  bench.clock.time += days * DAY * 1_000;
}

/** Lets a checkpoint note the time of all changes. */
export async function note(db: StoredDatabase): Promise<void> {
  await db.verify();
}

export async function remove(db: StoredDatabase, name: string, parent: string): Promise<void> {
  await put(db, name, { rev: parent, deleted: true, body: '{}' });
}

/** A document that was written and deleted. */
export async function tombstone(db: StoredDatabase, name: string): Promise<void> {
  await remove(db, name, await put(db, name));
}

export interface Run {
  readonly rules?: PurgeRules;
  readonly batchSize?: number;
  readonly isEnded?: () => boolean;
}

/** Purges once; gives the number of purged documents. */
export async function purge(bench: Bench, db: StoredDatabase, run: Run = {}): Promise<number> {
  const { rules = RULES, batchSize = 1_000, isEnded = () => false } = run;
  return (await purgeOld(db, { rules, batchSize, isEnded, clock: bench.clock, log: bench.log })).purged;
}

/** Writes the checkpoint of a peer, over the one that it has. */
export async function checkpoint(
  db: StoredDatabase,
  name: string,
  seq: number | string,
  side?: 'source' | 'target',
): Promise<void> {
  const key = id(`_local/${name}`);
  await db.writeLocal(key, (await db.readLocal(key))?.rev, checkpointText(seq, side), { durability: 'relaxed' });
}

export function checkpointText(seq: number | string, side?: 'source' | 'target'): string {
  return JSON.stringify({ side, session_id: 's', source_last_seq: seq, history: [{ session_id: 's' }] });
}

export async function hasLocal(db: StoredDatabase, name: string): Promise<boolean> {
  return (await db.readLocal(id(`_local/${name}`))) !== undefined;
}

/** Ids of tombstones, in the order of changes. */
export async function tombstones(db: StoredDatabase): Promise<readonly string[]> {
  const snapshot = db.snapshot();
  const found: string[] = [];
  try {
    for await (const rows of snapshot.changes({ since: 0 })) {
      for (const row of rows) if (row.deleted) found.push(row.id);
    }
  } finally {
    snapshot.release();
  }
  return found;
}

export { rev };
