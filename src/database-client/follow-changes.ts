import type { Change, ChangesAnswer } from '../interface/changes.ts';
import type { ChangesOptions } from './contract.ts';
import { type Ask, queryOf } from './requests.ts';

/** Batch after batch up to the last change; then, if it is live, whatever comes. Each request is a whole answer, so that none is read half. */
export async function* followChanges<T>(ask: Ask, options: ChangesOptions<T>): AsyncGenerator<Change<T>, void, void> {
  const { live, batch = 500, doc_ids, selector, query, signal, ...others } = options;
  const body = doc_ids ? { doc_ids } : selector && { selector };
  const filter = body && { filter: doc_ids ? '_doc_ids' : '_selector' };
  let since = options.since ?? 0;
  let feed: 'longpoll' | undefined;
  for (;;) {
    const path = `/_changes${queryOf({ ...query, ...others, ...filter, since, limit: batch, feed })}`;
    const answer = await ask<ChangesAnswer<T>>(body ? 'POST' : 'GET', path, { body, signal });
    yield* answer.results;
    since = answer.last_seq;
    if (answer.results.length >= batch) continue;
    if (!live) return;
    feed = 'longpoll';
  }
}
