/** `_db_updates`: events of databases, as they happen (docs/http/changes.md#database-events). */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { DatabaseEvent, DatabaseEventFeed } from '../../database/changes/contract.ts';
import type { Answer, Context } from '../request/context.ts';
import { LiveBody, WAITS } from '../response/live-body.ts';
import { textAnswer, withHeader } from '../response/responses.ts';

const KINDS = ['longpoll', 'continuous', 'eventsource'];
const DEFAULT_SECONDS = 60;
/** A day: a platform's timers overflow after 24.8 days (2^31 ms). */
const MAX_SECONDS = 86_400;

export function getDatabaseEvents(context: Context): Answer {
  const { query, services } = context;
  const kind = query.get('feed') ?? 'longpoll';
  if (!KINDS.includes(kind)) {
    throw new DatabaseError('bad_request', `feed is "${kind}"; it must be longpoll, continuous or eventsource.`);
  }
  const timeoutMs = 1_000 * readSeconds(query.get('timeout') ?? String(DEFAULT_SECONDS));
  const sendsHeartbeats = kind !== 'longpoll' && query.get('heartbeat') !== 'false';
  const answer = textAnswer(context, 200, null);
  if (kind === 'eventsource') {
    withHeader(withHeader(answer, 'content-type', 'text/event-stream'), 'cache-control', 'no-cache');
  }
  if (context.isHead) return answer;
  const feed = services.feeds.openDatabases();
  const pieces = kind === 'longpoll' ? firstEvent(feed, timeoutMs) : allEvents(feed, kind, timeoutMs, sendsHeartbeats);
  return { ...answer, body: new LiveBody({ pieces, heartbeatMs: undefined, close: () => feed.close() }, context) };
}

function readSeconds(text: string): number {
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (seconds > 0) return Math.min(seconds, MAX_SECONDS);
  throw new DatabaseError('bad_request', `timeout is "${text}"; it must be a number of seconds.`);
}

async function* firstEvent(feed: DatabaseEventFeed, timeoutMs: number): AsyncGenerator<string, void, void> {
  try {
    yield WAITS;
    const event = await feed.next(timeoutMs);
    yield typeof event === 'string' ? '{"ok":true}\n' : `${eventText(event)}\n`;
  } finally {
    feed.close();
  }
}

async function* allEvents(
  feed: DatabaseEventFeed,
  kind: string,
  timeoutMs: number,
  sendsHeartbeats: boolean,
): AsyncGenerator<string, void, void> {
  try {
    for (;;) {
      yield WAITS;
      const event = await feed.next(timeoutMs);
      if (event === 'ended' || (event === 'timeout' && !sendsHeartbeats)) return;
      if (event === 'timeout') yield '\n';
      else yield kind === 'eventsource' ? `data: ${eventText(event)}\n\n` : `${eventText(event)}\n`;
    }
  } finally {
    feed.close();
  }
}

function eventText({ name, type }: DatabaseEvent): string {
  return JSON.stringify({ db_name: name, ok: true, type });
}
