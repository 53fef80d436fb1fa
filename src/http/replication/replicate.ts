/** `POST /_replicate` (docs/http/replication.md). */
import { CustomCodeError } from '../../base/errors/database-error.ts';
import { startBackgroundTimer } from '../../base/shared/clock.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { RequestUser } from '../../base/shared/message.ts';
import type { RunResult } from '../../replication/contract.ts';
import type { ReplicationDocuments } from '../../replication/documents/replication-documents.ts';
import { cancelled, ReplicationError } from '../../replication/failure.ts';
import type { ReplicateOutcome, Replicator } from '../../replication/jobs/replicator.ts';
import { readObject, requireJsonType } from '../request/bodies.ts';
import { QUERY } from '../request/body-bounds.ts';
import type { Answer, Context } from '../request/context.ts';
import { showError } from '../response/error-table.ts';
import { LiveBody, WAITS } from '../response/live-body.ts';
import { ownBase } from '../response/locations.ts';
import { jsonAnswer, textAnswer } from '../response/responses.ts';

/**
 * A failure within this time is answered with its own status. If it takes longer, the head is sent, and heartbeats after it: browsers
 * give up a response that does not begin within a minute, and one that stays silent for half a minute.
 */
const HEAD_AFTER_MS = 10_000;
const HEARTBEAT_MS = 10_000;

/** The family's word for it, with a space. */
const UNKNOWN = JSON.stringify({
  error: 'not found',
  reason: 'There is no such replication. GET /_scheduler/jobs lists the replications with their ids.',
});

/** The replicator, as the handlers see it. */
export interface ReplicatorService {
  readonly replicator: Replicator;
  readonly documents: ReplicationDocuments;
}

export async function postReplicate(
  { replicator }: Pick<ReplicatorService, 'replicator'>,
  context: Context,
): Promise<Answer> {
  requireJsonType(context);
  const body = await readObject(context, QUERY);
  const base = ownBase(context);
  const ownBases = base.startsWith('/') || base === '' ? [] : [base];
  const { user, clientAddress: address, identity } = context;
  const { trace } = context.request.observed ?? {};
  const outcome = await replicator
    .replicate(body, { user, ownBases, address, recheck: recheckOf(context), until: identity?.until, trace })
    .catch((failure: unknown) => Promise.reject(asRunFailure(failure)));
  return answerOutcome(context, outcome);
}

/** A replication continues after the session that requested it has ended. */
function recheckOf({ identity }: Context): (() => MaybePromise<RequestUser | undefined>) | undefined {
  return identity && (() => identity.recheckBeyondSession());
}

function answerOutcome(context: Context, outcome: ReplicateOutcome): Answer | Promise<Answer> {
  switch (outcome.kind) {
    case 'unknown':
      return jsonAnswer(context, 404, UNKNOWN);
    case 'cancelled':
      return jsonAnswer(context, 200, idText(outcome.id));
    case 'started':
      return jsonAnswer(context, 202, idText(outcome.id));
    case 'running':
      return answerResult(context, outcome.result);
  }
}

function idText(id: string): string {
  return JSON.stringify({ ok: true, _local_id: id });
}

async function answerResult(context: Context, outcome: Promise<RunResult>): Promise<Answer> {
  const result = outcome.catch((failure: unknown) => Promise.reject(asRunFailure(failure)));
  const early = await settledWithin(result, HEAD_AFTER_MS);
  if (early !== undefined) return jsonAnswer(context, 200, resultText(await early.outcome));
  // A client that disconnects, or whose token expires, ends only this wait: the replication may continue.
  const closed = new AbortController();
  const source = { pieces: lateResult(result, closed.signal), heartbeatMs: HEARTBEAT_MS, close: () => closed.abort() };
  return textAnswer(context, 200, new LiveBody(source, context));
}

/** Sends a failure as text, too, for people; then the response breaks off, so that no one takes it for a result. */
async function* lateResult(result: Promise<RunResult>, closed: AbortSignal): AsyncGenerator<string, void, void> {
  yield WAITS;
  try {
    yield `${resultText(await unlessClosed(result, closed))}\n`;
  } catch (failure) {
    const { error, reason } = showError(failure);
    yield `${JSON.stringify({ error, reason })}\n`;
    throw failure;
  }
}

/** Fails with `cancelled` when no one waits any more. */
function unlessClosed<T>(result: Promise<T>, closed: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const end = () => reject(cancelled());
    if (closed.aborted) end();
    else closed.addEventListener('abort', end, { once: true });
    result.then(resolve, reject);
  });
}

function resultText(result: RunResult): string {
  return JSON.stringify({ ok: true, ...result });
}

/** The promise itself, settled; undefined if it does not settle in time. */
function settledWithin<T>(promise: Promise<T>, ms: number): Promise<{ readonly outcome: Promise<T> } | undefined> {
  return new Promise((resolve) => {
    const stop = startBackgroundTimer(ms, () => resolve(undefined));
    const settled = () => {
      stop();
      resolve({ outcome: promise });
    };
    promise.then(settled, settled);
  });
}

/** A peer's refusal is no refusal of this request: it is answered with 500, and the peer's error word. */
function asRunFailure(failure: unknown): unknown {
  if (!(failure instanceof ReplicationError) || failure.code === 'cancelled') return failure;
  const { error, reason } = showError(failure);
  return new CustomCodeError('replication_failed', error, String(reason));
}
