/** The parameters of `_changes` (docs/http/changes.md). Names are case-insensitive; the first value of a repeated parameter counts. */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { integerSetting } from '../../base/system/config.ts';
import type { FeedOptions } from '../../database/changes/contract.ts';
import type { Context } from '../request/context.ts';

export type FeedKind = 'normal' | 'longpoll' | 'continuous' | 'eventsource';

export interface ChangeParameters {
  readonly feed: FeedKind;
  /** Whether the response may have a tag. An unknown `feed` is answered as `normal`, but without a tag. */
  readonly isTagged: boolean;
  /** `since` has no meaning if there is a `sinceTime`. */
  readonly options: Omit<FeedOptions, 'filter'>;
  /** Changes since that time, in seconds since the epoch; undefined if the request names a sequence number. */
  readonly sinceTime: number | undefined;
  readonly allLeaves: boolean;
  readonly includeDocs: boolean;
  readonly conflicts: boolean;
  readonly attachments: boolean;
  readonly attEncodingInfo: boolean;
  /** Milliseconds between newlines that show that the feed is alive; undefined for none. */
  readonly heartbeatMs: number | undefined;
  readonly filter: string | undefined;
  readonly view: string | undefined;
  /** JSON text. */
  readonly docIds: string | undefined;
}

const KINDS: readonly FeedKind[] = ['normal', 'longpoll', 'continuous', 'eventsource'];
const LASTS = { normal: 'once', longpoll: 'first', continuous: 'on', eventsource: 'on' } as const;
const DEFAULT_MS = 60_000;
/** More frequent heartbeats would be of no use. */
const MIN_HEARTBEAT_MS = 10;

/** Fails with `bad_request`. */
export function readChangeParameters(context: Context): ChangeParameters {
  const given = new Map<string, string>();
  for (const [name, value] of context.query.entries()) {
    const key = name.toLowerCase();
    if (!given.has(key)) given.set(key, value);
  }
  const flag = (name: string) => given.get(name) === 'true';
  const named = given.get('feed') ?? 'normal';
  const feed = KINDS.find((kind) => kind === named) ?? 'normal';
  const { heartbeatMs, timeoutMs } = readFeedTimes(context, (name) => given.get(name));
  const { since, sinceTime } = readSince(context, given, feed);
  return {
    feed,
    sinceTime,
    isTagged: named === 'normal' && context.method === 'GET',
    options: {
      since,
      descending: flag('descending'),
      limit: readLimit(given.get('limit')),
      lasts: LASTS[feed],
      timeoutMs,
    },
    allLeaves: readStyle(given.get('style')),
    includeDocs: flag('include_docs'),
    conflicts: flag('conflicts'),
    attachments: flag('attachments'),
    attEncodingInfo: flag('att_encoding_info'),
    heartbeatMs,
    filter: given.get('filter'),
    view: given.get('view'),
    docIds: given.get('doc_ids'),
  };
}

/** How long a feed waits: without limit if it has heartbeats, else for `timeoutMs`. */
export interface FeedTimes {
  readonly heartbeatMs: number | undefined;
  readonly timeoutMs: number | undefined;
}

/** Fails with `bad_request`. */
export function readFeedTimes(context: Context, get: (name: string) => string | undefined): FeedTimes {
  const heartbeatMs = readHeartbeat(get('heartbeat'));
  return { heartbeatMs, timeoutMs: heartbeatMs === undefined ? readTimeout(context, get('timeout')) : undefined };
}

/** The id after which a reconnecting event source continues. It is newer than `since` in the address, which is that of the first request. */
export function lastEventId(context: Context, feed: string): string | undefined {
  return feed === 'eventsource' ? context.header('last-event-id') : undefined;
}

interface Since {
  readonly since: number | 'now';
  readonly sinceTime: number | undefined;
}

/** A time in UTC, as in the family. Programs also write fractions of seconds. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/;
const SINCE_FORMS = 'a sequence number, now, or a time such as 2026-11-29T07:00:00Z';

function readSince(context: Context, given: ReadonlyMap<string, string>, feed: FeedKind): Since {
  const text = lastEventId(context, feed) ?? given.get('since') ?? given.get('last-event-id') ?? '0';
  if (text === 'now') return { since: 'now', sinceTime: undefined };
  // Clients that keep sequences as arbitrary JSON values send them in quotes.
  const plain = text.replace(/^"(.*)"$/, '$1');
  const ms = TIME.test(plain) ? Date.parse(plain) : Number.NaN;
  if (!Number.isNaN(ms)) return { since: 0, sinceTime: Math.floor(ms / 1_000) };
  return { since: readInteger('since', plain, SINCE_FORMS), sinceTime: undefined };
}

function readLimit(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, readInteger('limit', text, 'a whole number'));
}

function readStyle(text = 'main_only'): boolean {
  if (text === 'main_only' || text === 'all_docs') return text === 'all_docs';
  throw new DatabaseError('bad_request', `style is "${text}"; it must be main_only or all_docs.`);
}

function readHeartbeat(text: string | undefined): number | undefined {
  if (text === undefined || text === 'false') return undefined;
  if (text === 'true') return DEFAULT_MS;
  return Math.max(MIN_HEARTBEAT_MS, readInteger('heartbeat', text, 'true, false, or a number of milliseconds'));
}

function readTimeout({ services }: Context, text: string | undefined): number {
  const longest = integerSetting(services.config, 'httpd', 'changes_timeout') ?? DEFAULT_MS;
  return text === undefined ? longest : Math.min(longest, readInteger('timeout', text, 'a number of milliseconds'));
}

function readInteger(name: string, text: string, expected: string): number {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  throw new DatabaseError('bad_request', `${name} is "${text}"; it must be ${expected}.`);
}
