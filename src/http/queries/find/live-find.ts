/** Selector queries that stay alive: first the answer, then its changes (docs/http/find.md#live-selector-queries). */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { JsonObject } from '../../../base/json/objects.ts';
import type { Feed } from '../../../database/changes/contract.ts';
import type { Finder } from '../../../queries/find/contract.ts';
import { lastEventId, readFeedTimes } from '../../database/change-parameters.ts';
import type { Answer, Context } from '../../request/context.ts';
import { FORGET_EVENT_ID, LiveBody, WAITS } from '../../response/live-body.ts';
import { textAnswer, withHeader } from '../../response/responses.ts';
import { LiveSelection } from './live-selection.ts';

const FEEDS = ['longpoll', 'continuous', 'eventsource'] as const;
type LiveFeed = (typeof FEEDS)[number];

/** Members of a query that determine which part of the answer is shown. */
const PARTS = ['limit', 'skip', 'bookmark'];
const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** Which feed the request asks for; undefined if it wants only the answer. */
export function liveFindOf({ query }: Context): LiveFeed | undefined {
  const feed = query.get('feed');
  return FEEDS.find((one) => one === feed);
}

export async function answerLiveFind(
  finder: Finder,
  context: Context,
  database: string,
  { feed: kind, body }: { readonly feed: LiveFeed; readonly body: JsonObject },
): Promise<Answer> {
  const part = PARTS.find((name) => Object.hasOwn(body, name));
  if (part !== undefined) {
    throw new DatabaseError('bad_request', `A live query takes no \`${part}\`. Leave out ${PARTS.join(', ')}.`);
  }
  const since = readSince(lastEventId(context, kind) ?? context.query.get('since'));
  const { heartbeatMs, timeoutMs } = readFeedTimes(context, (name) => context.query.get(name));
  const selection = new LiveSelection({
    test: finder.test(body['selector']),
    show: await finder.projection(body['fields']),
    conflicts: body['conflicts'] === true,
  });
  const feed = await context.services.feeds.open(database, {
    since: since ?? 'now',
    descending: false,
    limit: Number.POSITIVE_INFINITY,
    lasts: kind === 'longpoll' ? 'first' : 'on',
    timeoutMs,
    filter: selection,
  });
  // A client that continues from a sequence has the answer, and one that waits for a single change wants no more.
  const hasAnswer = since === undefined && kind !== 'longpoll';
  const first = hasAnswer ? answerOf(finder, context, database, body) : undefined;
  const pieces = livePieces(feed, selection, { kind, first });
  const answer = textAnswer(context, 200, new LiveBody({ pieces, heartbeatMs, close: () => feed.close() }, context));
  if (kind === 'eventsource') {
    withHeader(withHeader(answer, 'content-type', 'text/event-stream'), 'cache-control', 'no-cache');
  }
  return answer;
}

function readSince(text: string | undefined): number | 'now' | undefined {
  if (text === undefined || text === 'now') return text;
  const seq = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(seq)) return seq;
  throw new DatabaseError('bad_request', `since is "${text}"; it must be a sequence number, or now.`);
}

/** The members of the answer after `{`, on one line: its line breaks are only between its parts. */
async function* answerOf(
  finder: Finder,
  { services }: Context,
  name: string,
  body: JsonObject,
): AsyncGenerator<string, void, void> {
  const { database, release } = await services.registry.acquire(name);
  try {
    const found = await finder.find(database, { ...body, limit: NO_LIMIT });
    try {
      let isFirst = true;
      for await (const piece of found.pieces) {
        const line = piece.replace(/[\r\n]+/g, '');
        yield isFirst ? line.slice(1) : line;
        isFirst = false;
      }
    } finally {
      found.release();
    }
  } finally {
    release();
  }
}

async function* livePieces(
  feed: Feed,
  selection: LiveSelection,
  { kind, first }: { readonly kind: LiveFeed; readonly first: AsyncGenerator<string, void, void> | undefined },
): AsyncGenerator<string, void, void> {
  const [before, after] = kind === 'eventsource' ? ['data: ', '\n'] : ['', kind === 'continuous' ? '\n' : ''];
  const end = (seq: number) => (kind === 'eventsource' ? `${after}id: ${seq}\n\n` : after);
  try {
    if (kind === 'longpoll') yield '{"results":[\n';
    if (first !== undefined) {
      const { updateSeq } = feed.moment;
      yield `${before}{"seq":${updateSeq},`;
      yield* first;
      yield end(updateSeq);
    }
    for await (const event of feed.events()) {
      if (event.type === 'wait') yield WAITS;
      else if (event.type === 'changes') {
        const seq = event.changes.at(-1)?.row.seq ?? 0;
        const changed = event.changes.flatMap((change) => selection.shown(change) ?? []);
        const removed = event.changes
          .filter((change) => selection.shown(change) === undefined)
          .map(({ row }) => row.id);
        const members = [
          ...(changed.length > 0 ? [`"changed":[${changed.join(',')}]`] : []),
          ...(removed.length > 0 ? [`"removed":${JSON.stringify(removed)}`] : []),
        ];
        yield `${before}{"seq":${seq},${members.join(',')}}${end(seq)}`;
      } else if (kind === 'longpoll') yield `\n],\n"last_seq":${event.lastSeq}}\n`;
      else if (kind === 'continuous') yield `{"last_seq":${event.lastSeq}}\n`;
      else if (event.isDeleted) yield FORGET_EVENT_ID;
    }
  } finally {
    feed.close();
  }
}
