/** Writes the events of a feed in each of its formats (docs/http/changes.md#formats-of-feeds). */

import type { Feed } from '../../database/changes/contract.ts';
import { FORGET_EVENT_ID, WAITS } from '../response/live-body.ts';
import type { FeedKind } from './change-parameters.ts';
import { type ChangeRows, isLongRow } from './change-rows.ts';

type FeedText = (feed: Feed, rows: ChangeRows) => AsyncGenerator<string, void, void>;

/** The text of a feed, piece by piece, each as soon as there is something to send. */
export const FEED_TEXTS: Readonly<Record<FeedKind, FeedText>> = {
  normal: listed,
  longpoll: listed,
  continuous: lines,
  eventsource: events,
};

/** One JSON object, whose head is sent at once. */
async function* listed(feed: Feed, rows: ChangeRows): AsyncGenerator<string, void, void> {
  yield '{"results":[\n';
  let separator = '';
  for await (const event of feed.events()) {
    if (event.type === 'end') {
      yield `\n],\n"last_seq":${event.lastSeq},"pending":${event.pending}}\n`;
      return;
    }
    if (event.type === 'wait') {
      yield WAITS;
      continue;
    }
    for await (const some of rows.of(feed, event)) {
      if (isLongRow(some)) {
        if (separator !== '') yield separator;
        yield* some.pieces;
      } else yield separator + some.map(({ text }) => text).join(',\n');
      separator = ',\n';
    }
  }
}

/** One line for each change, and one for the end. */
async function* lines(feed: Feed, rows: ChangeRows): AsyncGenerator<string, void, void> {
  for await (const event of feed.events()) {
    if (event.type === 'end') {
      yield `{"last_seq":${event.lastSeq},"pending":${event.pending}}\n`;
      return;
    }
    if (event.type === 'wait') {
      yield WAITS;
      continue;
    }
    for await (const some of rows.of(feed, event)) {
      if (isLongRow(some)) yield* closed(some.pieces, '\n');
      else yield some.map(({ text }) => `${text}\n`).join('');
    }
  }
}

/**
 * What an EventSource reads. It reconnects after the end, which needs no event of its own, and continues after the last id that it received.
 * If that id advances without a change to send, or when a wait begins, it gets an id without data, which shows nothing.
 */
async function* events(feed: Feed, rows: ChangeRows): AsyncGenerator<string, void, void> {
  let lastId: number | undefined;
  for await (const event of feed.events()) {
    if (event.type === 'end') {
      if (event.isDeleted) yield FORGET_EVENT_ID;
      return;
    }
    if (event.type === 'wait') {
      if (event.lastSeq !== lastId) yield `id: ${event.lastSeq}\n\n`;
      lastId = event.lastSeq;
      yield WAITS;
      continue;
    }
    for await (const some of rows.of(feed, event)) {
      if (isLongRow(some)) {
        lastId = some.seq;
        yield 'data: ';
        yield* closed(some.pieces, `\nid: ${some.seq}\n\n`);
        continue;
      }
      lastId = some.at(-1)?.seq;
      yield some.map(({ seq, text }) => `data: ${text}\nid: ${seq}\n\n`).join('');
    }
  }
}

/** Sends the last piece together with what ends the row, so that nothing comes between them. */
async function* closed(pieces: AsyncIterable<string>, end: string): AsyncGenerator<string, void, void> {
  let former: string | undefined;
  for await (const piece of pieces) {
    if (former !== undefined) yield former;
    former = piece;
  }
  yield `${former ?? ''}${end}`;
}
