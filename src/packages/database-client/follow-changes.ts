import { pause } from '../../base/shared/clock.ts';
import type { Change, ChangesAnswer } from '../interface/documents.ts';
import type { ChangesOptions } from './contract.ts';
import { type Ask, isLater, queryOf, SetteeError } from './requests.ts';

/** Between two requests of a failing feed: the first pause, and the longest. */
const FIRST_PAUSE_MS = 250;
const MAX_PAUSE_MS = 10_000;

/** Batch after batch up to the last change; then, if it is live, each new change. Each request has a complete response, so none is read halfway. */
export async function* followChanges<T>(ask: Ask, options: ChangesOptions<T>): AsyncGenerator<Change<T>, void, void> {
  const { live, batch = 500, doc_ids, selector, query, signal, ...others } = options;
  const body = doc_ids ? { doc_ids } : selector && { selector };
  const filter = body && { filter: doc_ids ? '_doc_ids' : '_selector' };
  const next = live ? createPersistent(ask, signal) : ask;
  let since = options.since ?? 0;
  let feed: 'longpoll' | undefined;
  for (;;) {
    const path = `/_changes${queryOf({ ...query, ...others, ...filter, since, limit: batch, feed })}`;
    const answer = await next<ChangesAnswer<T>>(body ? 'POST' : 'GET', path, { body, signal });
    yield* answer.results;
    since = answer.last_seq;
    if (answer.results.length >= batch) continue;
    if (!live) return;
    feed = 'longpoll';
  }
}

/** Retries requests that were not answered or must be sent later, once there was a response: until then the address may be wrong. */
function createPersistent(ask: Ask, signal: AbortSignal | undefined): Ask {
  let wasAnswered = false;
  return async (...request) => {
    for (let ms = FIRST_PAUSE_MS; ; ms = Math.min(2 * ms, MAX_PAUSE_MS)) {
      try {
        const answer = await ask<never>(...request);
        wasAnswered = true;
        return answer;
      } catch (error) {
        const isPassing = error instanceof SetteeError ? isLater(error) : wasAnswered && error instanceof TypeError;
        if (!isPassing || signal?.aborted) throw error;
      }
      await pauseUnless(signal, ms);
    }
  };
}

/** Rejects with the signal's reason as soon as it aborts. */
async function pauseUnless(signal: AbortSignal | undefined, ms: number): Promise<void> {
  const listening = new AbortController();
  const aborted = new Promise<void>((resolve) => {
    signal?.addEventListener('abort', () => resolve(), { signal: listening.signal });
  });
  await Promise.race([pause(ms), aborted]);
  listening.abort();
  signal?.throwIfAborted();
}
