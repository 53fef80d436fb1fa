/** How documents of `_replicator` are listed (docs/http/replication.md#list-of-replication-documents), in the names that later versions of the family use. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { isObject, type JsonObject, ownMember } from '../../base/json/objects.ts';
import { REPLICATOR_DATABASE } from '../../base/system/contract.ts';
import type { DocumentRow, Snapshot } from '../../database/store/contract.ts';
import { describeEndpointText } from '../jobs/endpoint.ts';
import type { Job } from '../jobs/job.ts';
import { designDocsInfo, type EndpointInfo, endpointInfo, jobInfo, NODE } from '../jobs/job-listing.ts';
import { failureInfo, shownState, timestamp } from '../jobs/job-trouble.ts';
import { stateOf } from './state-members.ts';
import { documentBatches } from './stored-documents.ts';
import type { WatchedDocument } from './watched-document.ts';

export const LISTED_STATES = [
  'initializing',
  'pending',
  'running',
  'paused',
  'unauthorized',
  'crashing',
  'error',
  'completed',
  'failed',
] as const;

export type ListedState = (typeof LISTED_STATES)[number];

export interface ListedDocument extends EndpointInfo {
  readonly database: string;
  readonly doc_id: string;
  /** Null if it is not known, since the document is not valid. */
  readonly id: string | null;
  readonly state: ListedState;
  readonly node: string;
  /** Only if design documents are not copied. */
  readonly design_docs?: false;
  readonly info: object | null;
  /** Consecutive failures. */
  readonly error_count: number;
  readonly start_time: string | null;
  readonly last_updated: string | null;
}

/** Fails with `bad_request`. */
export function parseStates(text: string | undefined): ReadonlySet<ListedState> | undefined {
  if (text === undefined || text === '') return undefined;
  const states = text.split(',').map((name) => {
    const state = LISTED_STATES.find((each) => each === name);
    if (state !== undefined) return state;
    throw new DatabaseError(
      'bad_request',
      `The parameter states contains "${name}". Its values are ${LISTED_STATES.join(', ')}.`,
    );
  });
  return new Set(states);
}

/** Lists all documents that ask for replications, in the order of their ids. */
export async function* listDocuments(
  snapshot: Snapshot,
  watched: (id: string) => WatchedDocument | undefined,
): AsyncGenerator<readonly ListedDocument[], void, void> {
  for await (const rows of snapshot.rows({})) {
    const ids = rows.map(({ id }: DocumentRow) => id);
    for await (const found of documentBatches(snapshot, ids)) {
      yield found.flatMap(({ id, document }) =>
        document === undefined ? [] : [listDocument(id, document, watched(id))],
      );
    }
  }
}

/** `watched`: undefined for a completed document. */
export function listDocument(id: string, document: JsonObject, watched: WatchedDocument | undefined): ListedDocument {
  const common = { database: REPLICATOR_DATABASE, doc_id: id, node: NODE };
  return watched === undefined ? listStored(common, document) : listWatched(common, document, watched);
}

type Common = Pick<ListedDocument, 'database' | 'doc_id' | 'node'>;

/** For a completed document, or one that the replicator has not seen yet. */
function listStored(common: Common, document: JsonObject): ListedDocument {
  const { _replication_state: state, _replication_id: id = null, ...members } = stateOf(document);
  const stats = members._replication_stats;
  const startTime = stats && ownMember(stats, 'start_time');
  return {
    ...common,
    id,
    state: state === 'completed' ? 'completed' : 'initializing',
    ...endpointsOf(document),
    ...designDocsInfo({ designDocs: ownMember(document, 'design_docs') !== false }),
    info: stats ?? null,
    error_count: 0,
    start_time: typeof startTime === 'string' ? startTime : null,
    last_updated: members._replication_state_time ?? null,
  };
}

function listWatched(common: Common, document: JsonObject, watched: WatchedDocument): ListedDocument {
  const { replication, replicationId, job, failures, reason, addedAt, updatedAt, status } = watched;
  const { failingSince, nextAttempt } = watched;
  const isStarted = job !== undefined && (status === 'started' || status === 'completed');
  const hasFailed = reason !== undefined && status !== 'initializing';
  return {
    ...common,
    id: replicationId?.full ?? null,
    state: isStarted ? shownState(job) : stateOfStatus(status),
    ...(replication === undefined ? endpointsOf(document) : endpointInfo(replication)),
    ...designDocsInfo({ designDocs: ownMember(document, 'design_docs') !== false }),
    info: isStarted ? jobInfo(job) : hasFailed ? failureInfo(reason, failingSince, nextAttempt) : null,
    error_count: isStarted ? job.failures : failures,
    start_time: timestamp(addedAt),
    last_updated: timestamp(isStarted ? latest(job, updatedAt) : updatedAt),
  };
}

function latest(job: Job, updatedAt: number): number {
  return Math.max(job.updatedAt, updatedAt);
}

function stateOfStatus(status: WatchedDocument['status']): ListedState {
  // The family also reports this for a duplicate of another document.
  if (status === 'duplicate') return 'failed';
  return status === 'started' || status === 'waiting' ? 'pending' : status;
}

/** For a document that was not understood, or is no longer needed. */
function endpointsOf(document: JsonObject): EndpointInfo {
  const textOf = (name: string) => {
    const value = ownMember(document, name);
    const url = isObject(value) ? ownMember(value, 'url') : value;
    return typeof url === 'string' ? describeEndpointText(url) : null;
  };
  return { source: textOf('source'), target: textOf('target'), source_proxy: null, target_proxy: null };
}
