/** What the local service says of a replication, as the status of one direction, and the events between one status and the next. Pure. */
import type { RefusedDocument, ReplicationDocumentEntry } from '../../interface/replication.ts';
import type { SyncDirection, SyncDirectionStatus, SyncError, SyncProgress, SyncState, SyncStatus } from './contract.ts';

/** What is needed of an entry of `_scheduler/docs`. Newer services may have other states. */
export type Entry = Pick<ReplicationDocumentEntry, 'id' | 'info'> & { readonly state: string };

/** The state that needs attention most comes first. */
const BY_ATTENTION: readonly SyncState[] = [
  'unauthorized',
  'error',
  'offline',
  'active',
  'pending',
  'denied',
  'stopped',
  'paused',
  'complete',
];

/** Codes of failures that a person has to remedy by logging in, or by asking for rights. */
const OF_RIGHTS: ReadonlySet<string> = new Set(['unauthorized', 'forbidden']);

/** Written in full: an app that does not use it keeps nothing of it. */
export const PENDING: SyncDirectionStatus = {
  state: 'pending',
  docs_read: 0,
  docs_written: 0,
  doc_write_failures: 0,
  refused_count: 0,
  refused: [],
};

export function stoppedStatus(): SyncDirectionStatus {
  return { ...PENDING, state: 'stopped' };
}

/** The status if the replications could not be requested. */
export function failedStatus(error: SyncError, nextAttempt: string | undefined): SyncDirectionStatus {
  const state = OF_RIGHTS.has(error.error) ? 'unauthorized' : 'error';
  return { ...PENDING, state, last_error: error, ...(nextAttempt && { next_attempt: nextAttempt }) };
}

/**
 * Returns the status that an entry shows.
 *
 * @param hasProgress whether everything was not copied yet, as far as known
 */
export function statusOf({ state: listed, info, id }: Entry, hasProgress: boolean): SyncDirectionStatus {
  const figures = info ?? {};
  const pending = numberIn(figures, 'changes_pending');
  const refused = refusedIn(figures);
  const refusedCount = numberIn(figures, 'refused_count') ?? refused.length;
  const error = errorIn(figures);
  const state = stateOf(listed, error, pending, refusedCount);
  const nextAttempt = figures['next_attempt'];
  const progress = hasProgress && isUnderWay(state) ? progressOf(figures, pending) : undefined;
  return {
    state,
    docs_read: numberIn(figures, 'docs_read') ?? 0,
    docs_written: numberIn(figures, 'docs_written') ?? 0,
    doc_write_failures: numberIn(figures, 'doc_write_failures') ?? 0,
    ...(pending !== undefined && { pending }),
    ...(progress && { progress }),
    ...(error && { last_error: error }),
    ...(typeof nextAttempt === 'string' && { next_attempt: nextAttempt }),
    refused_count: refusedCount,
    refused,
    ...(id !== null && { replication_id: id }),
  };
}

/** Returns what a document says of its replication, for users who may not read the list. */
export function entryOf(document: Figures): Entry {
  const textIn = (name: string) => (typeof document[name] === 'string' ? document[name] : undefined);
  const { _replication_stats: stats } = document;
  const written = textIn('_replication_state');
  const reason = textIn('_replication_state_reason');
  const [, waitsFor = ''] = /^(offline|unauthorized):/.exec(reason ?? '') ?? [];
  const state = written === 'triggered' ? 'running' : (written ?? (waitsFor === 'offline' ? 'paused' : waitsFor));
  const info = { ...Object(stats), ...(reason !== undefined && { error: reason }) };
  return { id: textIn('_replication_id') ?? null, state, info };
}

export function overall(directions: Partial<Record<SyncDirection, SyncDirectionStatus>>): SyncStatus {
  const states = Object.values(directions).map(({ state }) => state);
  const state = BY_ATTENTION.find((each) => states.includes(each)) ?? 'stopped';
  return { state, ...directions };
}

/** Whether it copies, will soon, or would if it could. */
export function isUnderWay(state: SyncState): boolean {
  return state !== 'paused' && state !== 'denied' && state !== 'complete' && state !== 'stopped';
}

/** Returns the events of one direction, except those for refused documents. */
export function eventsBetween(
  before: SyncDirectionStatus,
  after: SyncDirectionStatus,
): ('change' | 'active' | 'paused' | 'offline' | 'unauthorized' | 'error')[] {
  const hasCopied = after.docs_written > 0 && after.docs_written !== before.docs_written;
  const name = after.state === 'denied' ? 'paused' : after.state;
  const error = textOf(after.last_error);
  const isNew = after.state !== before.state || (error !== undefined && error !== textOf(before.last_error));
  const hasEvent = name !== 'pending' && name !== 'complete' && name !== 'stopped';
  return [...(hasCopied ? (['change'] as const) : []), ...(hasEvent && isNew ? [name] : [])];
}

function stateOf(
  listed: string,
  error: SyncError | undefined,
  pending: number | undefined,
  refusedCount: number,
): SyncState {
  switch (listed) {
    case 'completed':
      return 'complete';
    case 'running':
      if (pending !== 0) return 'active';
      return refusedCount > 0 ? 'denied' : 'paused';
    case 'paused':
      return 'offline';
    case 'unauthorized':
      return 'unauthorized';
    case 'crashing':
    case 'error':
    case 'failed':
      return error && OF_RIGHTS.has(error.error) ? 'unauthorized' : 'error';
    default:
      return 'pending';
  }
}

function progressOf(figures: Figures, pending: number | undefined): SyncProgress | undefined {
  if (pending === undefined) return undefined;
  const done = numberIn(figures, 'revisions_checked') ?? 0;
  return { done, total: done + pending };
}

type Figures = Readonly<Record<string, unknown>>;

function numberIn(figures: Figures, name: string): number | undefined {
  const value = figures[name];
  return typeof value === 'number' ? value : undefined;
}

function refusedIn({ refused }: Figures): readonly RefusedDocument[] {
  return Array.isArray(refused) ? refused : [];
}

/** The service writes a code, a colon and the reason. */
function errorIn({ error, error_since: since }: Figures): SyncError | undefined {
  if (typeof error !== 'string') return undefined;
  const [, code = 'unknown_error', reason = error] = /^(\w+): (.*)$/s.exec(error) ?? [];
  return { error: code, reason, ...(typeof since === 'string' && { since }) };
}

function textOf(error: SyncError | undefined): string | undefined {
  return error && `${error.error}: ${error.reason}`;
}
