/** `_changes`: the changes of a database's documents, in order, and those that follow (docs/http/changes.md). */

import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { Feed } from '../../database/changes/contract.ts';
import type { Database } from '../../database/store/contract.ts';
import { readText, requireJsonType } from '../request/bodies.ts';
import { QUERY } from '../request/body-bounds.ts';
import type { Answer, Context } from '../request/context.ts';
import { withSnapshot } from '../request/snapshot-lease.ts';
import { LiveBody } from '../response/live-body.ts';
import { matchesTag, momentTag, notModified, readerTag, textAnswer, withHeader } from '../response/responses.ts';
import { streamedBody } from '../response/streams.ts';
import { type DeferredFilters, openChangeFilter } from './change-filters.ts';
import { type ChangeParameters, readChangeParameters } from './change-parameters.ts';
import { ChangeRows } from './change-rows.ts';
import { FEED_TEXTS } from './feed-text.ts';

type ChangesHandler = (context: Context, database: string) => Promise<Answer>;

export function changesHandlers(filters: DeferredFilters): Readonly<Record<'get' | 'post', ChangesHandler>> {
  return {
    get: (context, database) => answerChanges(context, database, '', filters),
    post: async (context, database) => {
      requireJsonType(context);
      const { filter } = readChangeParameters(context);
      const body = await readText(context, filter === '_selector' ? QUERY : undefined);
      return answerChanges(context, database, body, filters);
    },
  };
}

async function answerChanges(context: Context, name: string, body: string, deferred: DeferredFilters): Promise<Answer> {
  const parameters = readChangeParameters(context);
  const { allLeaves } = parameters;
  const { filter, reader, since } = await withSnapshot(context, name, (snapshot, database) =>
    whenReady(openChangeFilter({ context, database, snapshot, body, allLeaves }, parameters, deferred), (opened) => ({
      filter: opened,
      reader: readerTag(context, database),
      since: sinceOf(context, parameters, database),
    })),
  );
  const feed = await context.services.feeds.open(name, { ...parameters.options, since, filter });
  try {
    return await answerFeed(context, feed, parameters, reader);
  } catch (error) {
    feed.close();
    throw error;
  }
}

/** Returns where the feed begins: for a time, with the first change of which it is not known that it is older. */
function sinceOf({ services }: Context, { options, sinceTime }: ChangeParameters, database: Database): number | 'now' {
  if (sinceTime === undefined) return options.since;
  // What is noted in the present second has the time of its end.
  return sinceTime > Math.ceil(services.clock.now() / 1_000) ? 'now' : database.seqAt(sinceTime);
}

/** `reader`: see `readerTag`. */
async function answerFeed(
  context: Context,
  feed: Feed,
  parameters: ChangeParameters,
  reader: readonly string[],
): Promise<Answer> {
  const tag = parameters.isTagged ? await momentTag(feed.database, feed.moment, reader) : undefined;
  if (tag !== undefined && matchesTag(context.header('if-none-match'), tag)) {
    feed.close();
    return notModified(tag);
  }
  const answer = textAnswer(context, 200, await feedBody(context, feed, parameters));
  if (parameters.feed === 'eventsource') {
    withHeader(withHeader(answer, 'content-type', 'text/event-stream'), 'cache-control', 'no-cache');
  }
  return tag === undefined ? answer : withHeader(answer, 'etag', tag);
}

function feedBody(context: Context, feed: Feed, parameters: ChangeParameters): MaybePromise<Answer['body']> {
  const rows = new ChangeRows(parameters);
  const pieces = FEED_TEXTS[parameters.feed](feed, rows);
  const close = () => feed.close();
  // If reading existing changes fails, the status says so.
  if (parameters.feed === 'normal' && parameters.heartbeatMs === undefined) {
    return streamedBody(context, pieces, close);
  }
  if (context.isHead) {
    close();
    return null;
  }
  const { heartbeatMs } = parameters;
  return new LiveBody({ pieces, rows, heartbeatMs, close }, context);
}
