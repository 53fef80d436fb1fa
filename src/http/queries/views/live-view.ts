/** Queries of views that stay alive: they tell when their answer changes, and how (docs/http/views.md#live-views). */

import { DatabaseError, isDatabaseError } from '../../../base/errors/database-error.ts';
import { must } from '../../../base/shared/assert.ts';
import type { DatabaseWatch } from '../../../database/changes/contract.ts';
import type { RowChange, ViewIndexes, ViewReader, ViewRow, ViewWatch } from '../../../queries/views/contract.ts';
import { type FeedTimes, lastEventId, readFeedTimes } from '../../database/change-parameters.ts';
import { readDesign } from '../../documents/design-document.ts';
import { isLongRow, type RowBatch } from '../../documents/lists/document-list.ts';
import type { Answer, Context } from '../../request/context.ts';
import { FORGET_EVENT_ID, LiveBody, WAITS } from '../../response/live-body.ts';
import { textAnswer, withHeader } from '../../response/responses.ts';
import type { ViewGroupLease } from './view-group-lease.ts';
import { toReduceOptions, type ViewParameters } from './view-parameters.ts';
import type { ViewQuery } from './view-query.ts';
import { groupTexts, rowTexts } from './view-text.ts';

type LiveFeed = 'longpoll' | 'continuous' | 'eventsource';

interface LiveOptions extends FeedTimes {
  readonly feed: LiveFeed;
  /** The state of the rows that the client has; undefined for none. */
  readonly since: string | undefined;
  readonly includeRows: boolean;
}

const FEEDS: readonly LiveFeed[] = ['longpoll', 'continuous', 'eventsource'];
/** Maximum number of ranges that are watched, each separately. */
const MAX_KEYS = 1_000;

/** Which feed the request asks for; undefined if it wants only the rows. */
export function liveFeedOf(context: Context): LiveFeed | undefined {
  const feed = context.query.get('feed');
  return FEEDS.find((one) => one === feed);
}

/** Takes over the lease. `design` is the name of the design document. The feed begins at the present moment. */
export async function answerLive(
  views: ViewIndexes,
  context: Context,
  lease: ViewGroupLease,
  { design, query }: { readonly design: string; readonly query: ViewQuery },
): Promise<Answer> {
  const options = readLiveOptions(context, query.parameters);
  const answer = textAnswer(context, 200, null);
  if (options.feed === 'eventsource') {
    withHeader(withHeader(answer, 'content-type', 'text/event-stream'), 'cache-control', 'no-cache');
  }
  if (context.isHead) {
    lease.release();
    return answer;
  }
  const live = await LiveView.begin({ views, context, lease, design, query, options });
  const { heartbeatMs } = options;
  return {
    ...answer,
    body: new LiveBody({ pieces: live.pieces(), rows: live, heartbeatMs, close: () => live.close() }, context),
  };
}

function readLiveOptions(context: Context, { keys, skip, limit, isReduced }: ViewParameters): LiveOptions {
  const { query } = context;
  const feed = must(liveFeedOf(context));
  const includeRows = query.flag('include_rows');
  if (includeRows && !isReduced && (skip > 0 || limit !== undefined)) {
    throw new DatabaseError(
      'bad_request',
      '`skip` and `limit` can not be combined with `include_rows` in a feed. Give bounds such as `startkey` and `endkey` instead.',
    );
  }
  if (keys !== undefined && keys.length > MAX_KEYS) {
    throw new DatabaseError(
      'bad_request',
      `\`keys\` has ${keys.length} keys; a feed follows ${MAX_KEYS} at most. Give fewer keys, or bounds.`,
    );
  }
  // A client that asks for rows begins with all of them.
  const since = lastEventId(context, feed) ?? query.get('since') ?? (includeRows ? undefined : 'now');
  return { feed, since, includeRows, ...readFeedTimes(context, (name) => query.get(name)) };
}

interface LiveViewOptions {
  readonly views: ViewIndexes;
  readonly context: Context;
  readonly lease: ViewGroupLease;
  readonly design: string;
  readonly query: ViewQuery;
  readonly options: LiveOptions;
}

class LiveView {
  /** Whether an event is partly written. */
  isInside = false;
  readonly #options: LiveViewOptions;
  readonly #commits: DatabaseWatch;
  readonly #rows: ViewWatch;
  /** The state of the index at which the feed begins, until it is read. */
  #first: ViewReader | undefined;
  /** The state of the index for the event that is being sent. */
  #reader: ViewReader | undefined;
  #isBeingRead = false;
  #isDeleted = false;

  private constructor(options: LiveViewOptions) {
    const { context, lease, query } = options;
    this.#options = options;
    this.#rows = lease.group.watch(query.view, toReduceOptions(query.parameters));
    this.#commits = context.services.feeds.watch(lease.database.name);
  }

  static async begin(options: LiveViewOptions): Promise<LiveView> {
    const live = new LiveView(options);
    try {
      live.#first = await options.lease.group.read('before');
      // These rows include all earlier changes.
      live.#rows.take(live.#first);
      return live;
    } catch (error) {
      live.#release();
      throw error;
    }
  }

  close(): void {
    this.#commits.end();
    if (!this.#isBeingRead) this.#release();
  }

  #release(): void {
    this.#first?.release();
    this.#first = undefined;
    this.#commits.end();
    this.#rows.end();
    this.#options.lease.release();
  }

  async *pieces(): AsyncGenerator<string, void, void> {
    const { feed } = this.#options.options;
    this.#isBeingRead = true;
    try {
      if (feed === 'longpoll') yield '{"results":[\n';
      let seq = '';
      for await (const event of this.#events()) {
        seq = event.seq;
        if (event.text === undefined) yield WAITS;
        else yield* this.#framed(event.seq, event.text);
      }
      if (feed === 'longpoll') yield `\n],\n"last_seq":"${seq}"}\n`;
      if (feed === 'continuous') yield `{"last_seq":"${seq}"}\n`;
      if (feed === 'eventsource' && this.#isDeleted) yield FORGET_EVENT_ID;
    } finally {
      this.#release();
    }
  }

  /** If the database is deleted, the feed ends without a failure. */
  async *#events(): AsyncGenerator<LiveEvent, void, void> {
    const { feed, timeoutMs } = this.#options.options;
    try {
      for (;;) {
        const { seq, text } = await this.#nextEvent();
        if (text !== undefined) yield { seq, text };
        this.#endRead();
        yield { seq, text: undefined };
        if (feed === 'longpoll' && text !== undefined) return;
        const outcome = await this.#commits.next(timeoutMs);
        this.#isDeleted = outcome === 'deleted';
        if (outcome !== 'changed' || !(await this.#isSameIndex())) return;
      }
    } catch (error) {
      if (!isDatabaseError(error, 'storage_deleted')) throw error;
      this.#isDeleted = true;
    } finally {
      this.#endRead();
    }
  }

  async *#framed(seq: string, text: EventText): EventText {
    const { feed } = this.#options.options;
    this.isInside = true;
    if (feed === 'eventsource') yield 'data: ';
    yield* text;
    if (feed === 'eventsource') yield `\nid: ${seq}\n\n`;
    if (feed === 'continuous') yield '\n';
    this.isInside = false;
  }

  async #nextEvent(): Promise<LiveEvent> {
    const isFirst = this.#first !== undefined;
    const reader = this.#first ?? (await this.#options.lease.group.read('before'));
    this.#first = undefined;
    this.#reader = reader;
    const seq = this.#seqOf(reader);
    return { seq, text: isFirst ? this.#firstText(reader, seq) : this.#changedText(reader, seq) };
  }

  #endRead(): void {
    this.#reader?.release();
    this.#reader = undefined;
  }

  /** Names the state of the view's rows. */
  #seqOf(reader: ViewReader): string {
    const { seq, purgeSeq } = reader.lastChange(this.#options.query.view);
    return `${seq}-${purgeSeq}`;
  }

  /** All rows, unless the client has them. */
  #firstText(reader: ViewReader, seq: string): EventText | undefined {
    const { since } = this.#options.options;
    return since === 'now' || since === seq ? undefined : this.#allText(reader, seq);
  }

  #changedText(reader: ViewReader, seq: string): EventText | undefined {
    const { query, options } = this.#options;
    const changes = this.#rows.take(reader);
    if (changes?.length === 0) return undefined;
    if (changes === undefined || query.parameters.isReduced || !options.includeRows) return this.#allText(reader, seq);
    return this.#differenceText(changes, seq);
  }

  async *#allText(reader: ViewReader, seq: string): EventText {
    const { lease, query, options } = this.#options;
    yield `{"seq":"${seq}"`;
    if (options.includeRows) {
      const { view, parameters } = query;
      const asked = toReduceOptions(parameters);
      const snapshot = parameters.includeDocs ? lease.database.snapshot() : undefined;
      try {
        const texts = parameters.isReduced
          ? groupTexts(reader.reduce(view, asked))
          : rowTexts({ snapshot }, (await reader.rows(view, asked)).rows, parameters);
        yield* member('rows', texts);
      } finally {
        snapshot?.release();
      }
    }
    yield '}';
  }

  async *#differenceText(changes: readonly RowChange[], seq: string): EventText {
    const { lease, query } = this.#options;
    const { parameters } = query;
    yield `{"seq":"${seq}"`;
    const snapshot = parameters.includeDocs ? lease.database.snapshot() : undefined;
    try {
      for (const kind of ['added', 'changed', 'removed'] as const) {
        const rows = changes.filter((change) => change.kind === kind).map(({ row }) => row);
        const source = { snapshot: kind === 'removed' ? undefined : snapshot };
        if (rows.length > 0) yield* member(kind, rowTexts(source, once(rows), parameters));
      }
    } finally {
      snapshot?.release();
    }
    yield '}';
  }

  /** Whether the design document still leads to the index that is followed. */
  async #isSameIndex(): Promise<boolean> {
    const { views, lease, design } = this.#options;
    const snapshot = lease.database.snapshot();
    try {
      const group = await views.open(lease.database, await readDesign(snapshot, design));
      group.release();
      return group.signature === lease.group.signature;
    } catch (error) {
      if (isDatabaseError(error, 'not_found')) return false;
      throw error;
    } finally {
      snapshot.release();
    }
  }
}

type EventText = AsyncGenerator<string, void, void>;

interface LiveEvent {
  readonly seq: string;
  /** JSON text in pieces; undefined if everything was sent and nothing may follow for long. */
  readonly text: EventText | undefined;
}

async function* member(name: string, batches: AsyncIterable<RowBatch>): EventText {
  yield `,"${name}":[`;
  let separator = '';
  for await (const batch of batches) {
    if (isLongRow(batch)) {
      if (separator !== '') yield separator;
      yield* batch.pieces;
    } else if (batch.length > 0) yield separator + batch.join(',');
    else continue;
    separator = ',';
  }
  yield ']';
}

async function* once(rows: readonly ViewRow[]): AsyncGenerator<readonly ViewRow[], void, void> {
  yield rows;
}
