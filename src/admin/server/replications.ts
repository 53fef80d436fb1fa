/** All replications of the server: those that documents ask for, and those of requests. None is left out of the list. */
import { ask, base, type JsonObject } from './client.ts';
import { isMissingEndpoint, server } from './session.ts';
import { lackedAt, type RefusedDocument, refusedOf } from './written-since.ts';

export interface ReplicationState {
  readonly key: string;
  /** Addresses without their passwords. */
  readonly source: string;
  readonly target: string;
  readonly docId: string | undefined;
  readonly replicationId: string | undefined;
  readonly isContinuous: boolean;
  /** The server's word: `running`, `crashing`, … */
  readonly state: string;
  /** It runs, and repeats a request that fails. */
  readonly isStuck: boolean;
  readonly stateText: string;
  /** `warn`: it runs or is done, and documents were refused. */
  readonly health: 'good' | 'busy' | 'bad' | 'warn' | 'done';
  /** Changes of the source that are not copied yet; undefined if unknown. */
  readonly pending: number | undefined;
  readonly written: number | undefined;
  readonly read: number | undefined;
  /** Documents that the target refused, and still lacks. */
  readonly refused: number;
  /** The first of them. */
  readonly refusedDocuments: readonly RefusedDocument[];
  /** The name of the target, if it is a database of this server. */
  readonly targetDatabase: string | undefined;
  readonly error: string | undefined;
  readonly info: JsonObject;
}

const PER_PAGE = 100;
/** Documents in the list, and jobs, unless the caller wants more. */
export const MAX_LISTED = 1_000;

/** Undefined if the server has no list of them. */
export async function listReplications(
  signal?: AbortSignal,
  max = MAX_LISTED,
): Promise<readonly ReplicationState[] | undefined> {
  try {
    const [docs, jobs] = await Promise.all([
      allPages('_scheduler/docs', 'docs', max, signal),
      allPages('_scheduler/jobs', 'jobs', max, signal),
    ]);
    const byRequest = jobs.filter(({ doc_id }) => typeof doc_id !== 'string');
    const infos = new Map(jobs.map((job) => [`${job.id}`, job]));
    const all = [
      ...docs.map((doc) => toState(doc, infos.get(`${doc.id}`))),
      ...byRequest.map((job) => toState(job, job)),
    ];
    return await Promise.all(all.map((one) => withoutWritten(one, signal)));
  } catch (failure) {
    if (!isMissingEndpoint(failure)) throw failure;
    return tasksAsReplications(signal);
  }
}

async function allPages(
  path: string,
  member: string,
  max: number,
  signal?: AbortSignal,
): Promise<readonly JsonObject[]> {
  const found: JsonObject[] = [];
  for (;;) {
    const page = await ask<Record<string, readonly JsonObject[]>>(
      'GET',
      `${path}?limit=${PER_PAGE}&skip=${found.length}`,
      {
        signal,
        quiet: true,
      },
    );
    const rows = page[member] ?? [];
    found.push(...rows);
    if (rows.length < PER_PAGE || found.length >= max) return found;
  }
}

/** Older servers have only their list of tasks. */
async function tasksAsReplications(signal?: AbortSignal): Promise<readonly ReplicationState[] | undefined> {
  const tasks = await ask<readonly JsonObject[]>('GET', '_active_tasks', { signal, quiet: true }).catch(
    (failure: unknown) => {
      if (!isMissingEndpoint(failure)) throw failure;
      return undefined;
    },
  );
  const all = tasks
    ?.filter(({ type }) => type === 'replication')
    .map((task) => toState({ ...task, state: 'running', info: task }, undefined));
  return all && Promise.all(all.map((one) => withoutWritten(one, signal)));
}

export function toState(row: JsonObject, job: JsonObject | undefined): ReplicationState {
  const info = { ...objectOf(row.info), ...objectOf(job?.info) };
  const state = typeof row.state === 'string' ? row.state : 'running';
  const docId = textOf(row.doc_id);
  const replicationId = textOf(row.id) ?? textOf(row.replication_id);
  const isContinuous =
    row.continuous === true || job?.continuous === true || (replicationId ?? '').includes('+continuous');
  const pending = numberOf(info.changes_pending);
  // A job may run and not get on: it repeats a request that fails.
  const isStuck = state === 'running' && textOf(info.error) !== undefined;
  const error = textOf(info.error) ?? errorOf(row.history);
  const refused = refusedIn(info);
  return {
    key: `${docId ?? ''} ${replicationId ?? ''}`,
    source: endpointName(row.source),
    target: endpointName(row.target),
    targetDatabase: ownDatabase(row.target),
    docId,
    replicationId,
    isContinuous,
    state,
    isStuck,
    ...outcomeOf(isStuck ? 'crashing' : state, { pending, isContinuous, refused }),
    pending,
    written: numberOf(info.docs_written),
    read: numberOf(info.docs_read),
    refused,
    refusedDocuments: refusedOf(info.refused),
    error: isStuck || ['paused', 'unauthorized', 'crashing', 'failed', 'error'].includes(state) ? error : undefined,
    info,
  };
}

/** The same without the refused documents that the target has by now: their number, and what it means for the whole. */
export async function withoutWritten(one: ReplicationState, signal?: AbortSignal): Promise<ReplicationState> {
  const left = await lackedAt(one.targetDatabase, one.refusedDocuments, signal);
  const refused = Math.max(0, one.refused - (one.refusedDocuments.length - left.length));
  if (refused === one.refused) return one;
  return {
    ...one,
    ...outcomeOf(one.isStuck ? 'crashing' : one.state, { ...one, refused }),
    refused,
    refusedDocuments: left,
  };
}

type Progress = Pick<ReplicationState, 'pending' | 'isContinuous' | 'refused'>;

/** What is refused waits for somebody, however the rest gets on. */
function outcomeOf(state: string, progress: Progress): Pick<ReplicationState, 'stateText' | 'health'> {
  const outcome = outcomeOfRest(state, progress);
  if (progress.refused === 0 || outcome.health === 'bad') return outcome;
  const isAtEnd = outcome.health === 'done' || outcome.health === 'good';
  return { stateText: isAtEnd ? `${outcome.stateText}, except what was refused` : outcome.stateText, health: 'warn' };
}

function outcomeOfRest(
  state: string,
  { pending, isContinuous }: Progress,
): Pick<ReplicationState, 'stateText' | 'health'> {
  if (state === 'completed') return { stateText: 'Completed', health: 'done' };
  // Offline is no failure: it goes on by itself.
  if (state === 'paused') return { stateText: 'Offline, waits for the other server', health: 'busy' };
  if (state === 'unauthorized') return { stateText: 'Waits until somebody logs in', health: 'warn' };
  if (state === 'crashing' || state === 'error') return { stateText: 'Failing, will be retried', health: 'bad' };
  if (state === 'failed') return { stateText: 'Failed', health: 'bad' };
  if (state === 'pending' || state === 'initializing') return { stateText: 'Waiting for its turn', health: 'busy' };
  if (pending === 0 && isContinuous) return { stateText: 'In sync', health: 'good' };
  return { stateText: 'Copying', health: 'busy' };
}

/** Settee no longer counts those that a retry has copied, and omits the count if none is left. Other servers only count failures. */
function refusedIn(info: JsonObject): number {
  if (server.value?.isSettee === true) return numberOf(info.refused_count) ?? 0;
  return numberOf(info.doc_write_failures) ?? 0;
}

/** The reason of the last failure in a job's history. */
function errorOf(history: unknown): string | undefined {
  if (!Array.isArray(history)) return undefined;
  for (const event of history) {
    const reason = objectOf(event).reason;
    if (typeof reason === 'string') return reason;
  }
  return undefined;
}

/** `https://me:secret@example.org/db/` becomes `example.org/db`. */
export function endpointName(value: unknown): string {
  const text = typeof value === 'string' ? value : `${objectOf(value).url ?? ''}`;
  // A name without a scheme stays: `localhost:5984/db` would be one with the scheme `localhost`.
  if (!text.includes('://') || !URL.canParse(text)) return text;
  const { host, pathname } = new URL(text);
  return `${host}${pathname.replace(/\/$/, '')}`;
}

/** The name of the database if it is one of this server, which is named by its name or by its address. */
export function ownDatabase(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value : (textOf(objectOf(value).url) ?? '');
  if (!text.includes('://')) return text === '' ? undefined : text;
  if (!URL.canParse(text)) return undefined;
  const { host, pathname } = new URL(text);
  const [name = '', rest] = pathname.startsWith(base.pathname)
    ? pathname.slice(base.pathname.length).replace(/\/$/, '').split('/')
    : [];
  return host === base.host && name !== '' && rest === undefined ? decoded(name) : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** Something waits for somebody: it fails, or documents were refused. */
export function needsAttention({ health }: ReplicationState): boolean {
  return health === 'bad' || health === 'warn';
}

export function objectOf(value: unknown): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
