/** Answers requests for replications; loaded together with the replicator. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { joinInSteps, runCooperatively } from '../../base/shared/turn.ts';
import { listJob } from '../../replication/jobs/job-listing.ts';
import type { Answer, Context } from '../request/context.ts';
import type { HandlerPart, PartHandlers } from '../request/handlers.ts';
import { parseCount } from '../request/parameter-values.ts';
import { jsonAnswer } from '../response/responses.ts';
import { postReplicate } from './replicate.ts';
import type { ReplicatorService } from './replicator-service.ts';
import { getReplicationDocuments, type Part } from './scheduler-documents.ts';

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

export const replicatorHandlers = { postReplicate, getScheduler } satisfies PartHandlers<ReplicatorService>;

export type ReplicatorPart = HandlerPart<ReplicatorService, keyof typeof replicatorHandlers>;
