/**
 * Answers requests for replications, and lists replications and the documents that request them (docs/http/replication.md#list-of-replications).
 * Loaded together with the replicator.
 */
import { DatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { joinInSteps, runCooperatively } from '../../base/shared/turn.ts';
import { REPLICATOR_DATABASE } from '../../base/system/contract.ts';
import { parseDocId } from '../../database/documents/identifiers.ts';
import {
  type ListedDocument,
  listDocument,
  listDocuments,
  parseStates,
} from '../../replication/documents/document-listing.ts';
import { findDocuments } from '../../replication/documents/stored-documents.ts';
import { listJob } from '../../replication/jobs/job-listing.ts';
import type { Answer, Context } from '../request/context.ts';
import type { HandlerPart, PartHandlers } from '../request/handlers.ts';
import { parseCount } from '../request/parameter-values.ts';
import { withSnapshot } from '../request/snapshot-lease.ts';
import { jsonAnswer } from '../response/responses.ts';
import { postReplicate, type ReplicatorService } from './replicate.ts';

/** Answers requests for replications; loaded together with the replicator. */

/** `_scheduler/jobs`: the replications and their state (docs/http/replication.md#list-of-replications). */
/** The family's default. */
const DEFAULT_LIMIT = 25;

function getScheduler(
  service: ReplicatorService,
  context: Context,
  _database: string,
  rest: readonly string[],
): MaybePromise<Answer> {
  const [what, ...path] = rest;
  if (what === 'jobs') return getJobs(service, context, path);
  if (what === 'docs') return getReplicationDocuments(service, context, path, readPart(context));
  throw missing();
}

/** `_scheduler/jobs`: the replications and their state (docs/http/replication.md#list-of-replications). */
async function getJobs({ replicator }: ReplicatorService, context: Context, path: readonly string[]): Promise<Answer> {
  const [id, ...more] = path;
  if (id === undefined) {
    const { skip, limit } = readPart(context);
    const all = replicator.jobs.list();
    const shown = all.slice(skip, skip + limit);
    const jobs = await runCooperatively(joinInSteps(shown, (job) => JSON.stringify(listJob(job))));
    return jsonAnswer(context, 200, `{"total_rows":${all.length},"offset":${skip},"jobs":[${jobs}]}`);
  }
  const job = more.length === 0 ? replicator.jobs.get(id) : undefined;
  if (job === undefined) throw missing();
  return jsonAnswer(context, 200, JSON.stringify(listJob(job)));
}

/** Reads the query's `skip` and `limit`. Fails with `query_parse_error`. */
function readPart({ query }: Context): Part {
  return { skip: parseCount(query.get('skip') ?? 0), limit: parseCount(query.get('limit') ?? DEFAULT_LIMIT) };
}

function missing(): DatabaseError {
  return new DatabaseError('not_found', 'missing');
}

/** A part of the rows. */
interface Part {
  readonly skip: number;
  readonly limit: number;
}

/**
 * `_scheduler/docs`: documents that request replications, and the state of these (docs/http/replication.md#list-of-replication-documents).
 * `path`: nothing, the database, or the database and a document's id.
 */
async function getReplicationDocuments(
  service: ReplicatorService,
  context: Context,
  path: readonly string[],
  part: Part,
): Promise<Answer> {
  const [database = REPLICATOR_DATABASE, ...id] = path;
  if (database !== REPLICATOR_DATABASE)
    throw new DatabaseError('not_found', 'There is no such replicator database; its name is _replicator.');
  if (id.length > 0) return getOne(service, context, id.join('/'));
  const states = parseStates(context.query.get('states'));
  const rows: ListedDocument[] = [];
  let total = 0;
  for await (const batch of batches(service, context)) {
    const wanted = batch.filter(({ state }) => states === undefined || states.has(state));
    const from = Math.max(0, part.skip - total);
    rows.push(...wanted.slice(from, Math.max(from, part.skip + part.limit - total)));
    total += wanted.length;
  }
  return jsonAnswer(context, 200, JSON.stringify({ total_rows: total, offset: part.skip, docs: rows }));
}

/** Yields nothing if there is no such database yet. */
async function* batches(
  { documents }: ReplicatorService,
  { services: { registry } }: Context,
): AsyncGenerator<readonly ListedDocument[], void, void> {
  if (!registry.has(REPLICATOR_DATABASE)) return;
  const { database, release } = await registry.acquire(REPLICATOR_DATABASE);
  const snapshot = database.snapshot();
  try {
    yield* listDocuments(snapshot, (id) => documents.get(id));
  } finally {
    snapshot.release();
    release();
  }
}

async function getOne({ documents }: ReplicatorService, context: Context, id: string): Promise<Answer> {
  const { registry } = context.services;
  const found = registry.has(REPLICATOR_DATABASE)
    ? await withSnapshot(context, REPLICATOR_DATABASE, (snapshot) => findDocuments(snapshot, [parseDocId(id)]))
    : [];
  const document = found[0]?.document;
  if (document === undefined) throw new DatabaseError('not_found', 'missing');
  return jsonAnswer(context, 200, JSON.stringify(listDocument(id, document, documents.get(id))));
}

export const replicatorHandlers = { postReplicate, getScheduler } satisfies PartHandlers<ReplicatorService>;

export type ReplicatorPart = HandlerPart<ReplicatorService, keyof typeof replicatorHandlers>;
