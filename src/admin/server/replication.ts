/** One replication: its figures, its history, the documents that it could not copy. */
import { ask, exchange, type JsonObject, parseResponse, pathOf } from './client.ts';
import {
  listReplications,
  objectOf,
  ownDatabase,
  type ReplicationState,
  textOf,
  toState,
  withoutWritten,
} from './replications.ts';
import { isMissingEndpoint } from './session.ts';

/** What names it: a document of `_replicator`, or the id of a request's job. */
export interface ReplicationName {
  readonly docId?: string | undefined;
  readonly jobId?: string | undefined;
}

export interface ReplicationDetails {
  readonly state: ReplicationState;
  /** What the job did, newest first. */
  readonly events: readonly ReplicationEvent[];
  /** Source and target as the server names them. */
  readonly endpoints: readonly string[];
  /** Those of the two that are databases of this server. */
  readonly databases: readonly string[];
  readonly user: string | undefined;
  /** Texts of the server: RFC 3339. */
  readonly startTime: string | undefined;
  readonly errorSince: string | undefined;
  readonly nextAttempt: string | undefined;
  readonly errorCount: number | undefined;
  /** There is a job: it runs, waits or was given up. */
  readonly hasJob: boolean;
}

export interface ReplicationEvent {
  readonly time: string;
  readonly type: string;
  readonly reason: string | undefined;
}

/** A run in the history of a checkpoint. */
export interface ReplicationRun {
  readonly key: string;
  readonly began: string;
  readonly ended: string;
  readonly read: number;
  readonly written: number;
  readonly failures: number;
}

/** Undefined if the server knows none of that name. */
export async function readReplication(
  name: ReplicationName,
  signal?: AbortSignal,
): Promise<ReplicationDetails | undefined> {
  const { docId, jobId } = name;
  const row =
    docId === undefined ? undefined : await listed(pathOf('_scheduler', 'docs', '_replicator', docId), signal);
  const id = textOf(row?.id) ?? jobId;
  // What is completed has no job any more.
  const mayHaveJob = id !== undefined && row?.state !== 'completed';
  const job = !mayHaveJob ? undefined : await listed(pathOf('_scheduler', 'jobs', id), signal);
  const known = row ?? job;
  if (known === undefined) return fromList(name, signal);
  const details = toDetails(known, job);
  return { ...details, state: await withoutWritten(details.state, signal) };
}

/** Undefined if there is none. */
async function listed(path: string, signal?: AbortSignal): Promise<JsonObject | undefined> {
  try {
    return await ask('GET', path, { signal, quiet: true });
  } catch (failure) {
    if (isMissingEndpoint(failure)) return undefined;
    throw failure;
  }
}

/** Older servers have no list of jobs, only one of tasks. */
async function fromList({ docId, jobId }: ReplicationName, signal?: AbortSignal) {
  const all = await listReplications(signal);
  const state = all?.find((one) => (docId === undefined ? one.replicationId === jobId : one.docId === docId));
  if (state === undefined) return undefined;
  return { ...toDetails({ info: state.info }, undefined), state, hasJob: true };
}

function toDetails(row: JsonObject, job: JsonObject | undefined): ReplicationDetails {
  const state = toState(row, job);
  const { info } = state;
  return {
    state,
    events: listOf(job?.history ?? row.history).map((event) => ({
      time: textOf(event.timestamp) ?? '',
      type: textOf(event.type) ?? '',
      reason: textOf(event.reason),
    })),
    endpoints: [row.source, row.target].flatMap((one) => textOf(one) ?? []),
    databases: [row.source, row.target].flatMap((one) => ownDatabase(one) ?? []),
    user: textOf(job?.user ?? row.user),
    startTime: textOf(row.start_time),
    errorSince: textOf(info.error_since),
    nextAttempt: textOf(info.next_attempt),
    errorCount: typeof row.error_count === 'number' ? row.error_count : undefined,
    hasJob: job !== undefined,
  };
}

/** The runs that its checkpoint remembers, newest first. Undefined if neither database is on this server, or neither has the checkpoint. */
export async function readRuns(
  replicationId: string,
  databases: readonly string[],
  signal?: AbortSignal,
): Promise<readonly ReplicationRun[] | undefined> {
  const [checkpoint = ''] = replicationId.split('+');
  for (const database of databases) {
    const found = await listed(pathOf(database, `_local/${checkpoint}`), signal);
    if (found !== undefined) return listOf(found.history).map(toRun);
  }
  return undefined;
}

function toRun(run: JsonObject): ReplicationRun {
  return {
    key: textOf(run.session_id) ?? textOf(run.start_time) ?? '',
    began: textOf(run.start_time) ?? '',
    ended: textOf(run.end_time) ?? '',
    read: countOf(run.docs_read),
    written: countOf(run.docs_written),
    failures: countOf(run.doc_write_failures),
  };
}

export function isLocal(endpoint: string): boolean {
  return !endpoint.includes('://');
}

/** The document of `_replicator`; undefined if there is none, or no such database. */
export async function readReplicationDocument(docId: string, signal?: AbortSignal): Promise<JsonObject | undefined> {
  return listed(pathOf('_replicator', docId), signal);
}

/** Whether the database for documents that ask for replications exists, or the server makes it by itself. */
export async function hasReplicatorDatabase(): Promise<boolean> {
  const request = { method: 'GET', path: pathOf('_replicator') };
  const response = await exchange(request);
  if (response.status === 404) return false;
  parseResponse(response, request);
  return true;
}

export function countOf(value: unknown): number {
  return typeof value === 'number' ? value : 0;
}

export function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}
