/** The feed of changes of a database. */
import { ask, type Json, open, pathOf, withQuery } from '../server/client.ts';
import { linesOf } from '../server/db-updates.ts';

export interface ChangeEvent {
  readonly seq: Json;
  readonly id: string;
  /** The winning revision. */
  readonly rev: string;
  readonly isDeleted: boolean;
  /** Leaves beside the winner that are part of this change. */
  readonly others: number;
}

export interface Latest {
  readonly lastSeq: Json;
  /** Newest first. */
  readonly events: readonly ChangeEvent[];
}

interface Row {
  readonly seq: Json;
  readonly id: string;
  readonly changes: readonly { readonly rev: string }[];
  readonly deleted?: boolean;
}

const HEARTBEAT_MS = 25_000;
const AGAIN_MS = 3_000;

export async function latestChanges(database: string, limit: number, signal: AbortSignal): Promise<Latest> {
  const path = withQuery(pathOf(database, '_changes'), { descending: true, limit });
  const { results } = await ask<{ results: readonly Row[] }>('GET', path, { signal, quiet: true });
  return { lastSeq: results[0]?.seq ?? 0, events: results.map(toEvent) };
}

/** Calls `event` with each change after `since` until the signal ends it. A feed that breaks off is requested again. */
export async function followChanges(
  database: string,
  since: Json,
  signal: AbortSignal,
  { event, failed }: { readonly event: (event: ChangeEvent) => void; readonly failed: (failure: unknown) => void },
): Promise<void> {
  let last = since;
  while (!signal.aborted) {
    const query = { feed: 'continuous', since: seqText(last), heartbeat: HEARTBEAT_MS };
    try {
      const response = await open({ method: 'GET', path: withQuery(pathOf(database, '_changes'), query) }, signal);
      failed(undefined);
      for await (const line of linesOf(response)) {
        const row: Partial<Row> = JSON.parse(line);
        if (row.id === undefined || row.seq === undefined) continue;
        last = row.seq;
        event(toEvent({ seq: row.seq, id: row.id, changes: row.changes ?? [], deleted: row.deleted === true }));
      }
    } catch (failure) {
      if (signal.aborted) return;
      failed(failure);
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

/** Old clusters have sequences that are lists. */
export function seqText(seq: Json): string {
  return typeof seq === 'object' ? JSON.stringify(seq) : `${seq}`;
}

function toEvent({ seq, id, changes, deleted }: Row): ChangeEvent {
  return { seq, id, rev: changes[0]?.rev ?? '', isDeleted: deleted === true, others: Math.max(0, changes.length - 1) };
}
