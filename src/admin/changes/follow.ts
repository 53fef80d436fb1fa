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

interface Latest {
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

async function latestChanges(database: string, limit: number, signal: AbortSignal): Promise<Latest> {
  const path = withQuery(pathOf(database, '_changes'), { descending: true, limit });
  const { results } = await ask<{ results: readonly Row[] }>('GET', path, { signal, quiet: true });
  return { lastSeq: results[0]?.seq ?? 0, events: results.map(toEvent) };
}

/** Whom a feed tells. */
interface Listener {
  /** Called once, with the latest changes at the beginning, newest first. */
  readonly begun: (events: readonly ChangeEvent[]) => void;
  readonly event: (event: ChangeEvent) => void;
  /** Undefined when it goes on again. */
  readonly failed: (failure: unknown) => void;
}

/**
 * Reads the latest changes, at most `limit`, and calls `event` with each later one until the signal ends it. What fails or breaks off is
 * requested again.
 */
export async function followChanges(
  database: string,
  limit: number,
  signal: AbortSignal,
  { begun, event, failed }: Listener,
): Promise<void> {
  let last: Json | undefined;
  let read = continuousRows;
  while (!signal.aborted) {
    try {
      if (last === undefined) {
        const { events, lastSeq } = await latestChanges(database, limit, signal);
        last = lastSeq;
        begun(events);
      }
      for await (const row of read(database, last, signal)) {
        failed(undefined);
        if (row === undefined) continue;
        last = row.seq;
        event(toEvent(row));
      }
    } catch (failure) {
      if (signal.aborted) return;
      if (failure instanceof NoFeedError) read = newRows;
      else failed(failure);
    }
    await new Promise((done) => setTimeout(done, AGAIN_MS));
  }
}

/** The server returned a list instead of a feed. */
class NoFeedError extends Error {}

/** The rows as they come. Undefined: the feed has begun. */
async function* continuousRows(database: string, since: Json, signal: AbortSignal): AsyncGenerator<Row | undefined> {
  const query = { feed: 'continuous', since: seqText(since), heartbeat: HEARTBEAT_MS };
  const response = await open({ method: 'GET', path: withQuery(pathOf(database, '_changes'), query) }, signal);
  yield undefined;
  for await (const line of linesOf(response)) {
    if (line.startsWith('{"results":')) throw new NoFeedError();
    const { id, seq, changes, deleted }: Partial<Row> = JSON.parse(line);
    // The last line names the sequence only.
    if (id !== undefined && seq !== undefined) yield { id, seq, changes: changes ?? [], deleted: deleted === true };
  }
}

/** The rows of one list, for servers without a continuous feed. */
async function* newRows(database: string, since: Json, signal: AbortSignal): AsyncGenerator<Row | undefined> {
  const path = withQuery(pathOf(database, '_changes'), { since: seqText(since) });
  const { results } = await ask<{ results: readonly Row[] }>('GET', path, { signal, quiet: true });
  yield undefined;
  yield* results;
}

/** Old clusters have sequences that are lists. */
export function seqText(seq: Json): string {
  return typeof seq === 'object' ? JSON.stringify(seq) : `${seq}`;
}

function toEvent({ seq, id, changes, deleted }: Row): ChangeEvent {
  return { seq, id, rev: changes[0]?.rev ?? '', isDeleted: deleted === true, others: Math.max(0, changes.length - 1) };
}
