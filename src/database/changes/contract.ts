/** What feeds of changes are made of (docs/internals.md#changes). They know nothing of HTTP: others write their events as text. */

import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { DocId, RevId } from '../documents/contract.ts';
import type { ChangeRow, Snapshot } from '../store/contract.ts';

/** A change that passed the filter. */
export interface SelectedChange {
  readonly row: ChangeRow;
  /** Those of the row's revisions that are listed. */
  readonly revs: readonly RevId[];
}

/** Chooses among the changes. */
export interface ChangeFilter {
  /** All documents that can pass, where they are known before: a feed need not walk over the others then. */
  readonly ids?: readonly DocId[];
  /** The changes that pass, in their order. Called for some at a time; `snapshot` shows the moment of the rows, or a later one. */
  select(rows: readonly ChangeRow[], snapshot: Snapshot): MaybePromise<readonly SelectedChange[]>;
}

export interface FeedOptions {
  /** Changes after this sequence number. */
  readonly since: number | 'now';
  /** From the newest change down to the oldest; `since` bounds nothing then. For feeds that end by themselves. */
  readonly descending: boolean;
  /** How many changes there may be in all; at least 1. */
  readonly limit: number;
  /** `once`: what is there. `first`: what is there, else what comes first. `on`: what is there and what comes, until something ends it. */
  readonly lasts: 'once' | 'first' | 'on';
  /** How long it waits for the next change of the database; undefined for any time. */
  readonly timeoutMs: number | undefined;
  readonly filter: ChangeFilter;
}

export type FeedEvent =
  /** `snapshot` is there until the next event is asked for. */
  | { readonly type: 'changes'; readonly changes: readonly SelectedChange[]; readonly snapshot: Snapshot }
  /** All that is there was told; what comes next may take any time. Nothing of the database is held meanwhile. */
  | { readonly type: 'wait'; readonly lastSeq: number }
  | {
      readonly type: 'end';
      /** All up to here was looked at, whether it passed or not: the feed goes on from here. */
      readonly lastSeq: number;
      /** How many changes there are behind it. */
      readonly pending: number;
      /** The database was deleted: a database that is made under its name counts from the start, and `lastSeq` means nothing in it. */
      readonly isDeleted: boolean;
    };

/** A feed that was begun. Must be read to its end, or closed. */
export interface Feed {
  /** Of the moment at which it was begun. */
  readonly moment: { readonly updateSeq: number; readonly purgeSeq: number };
  /** Names the database for good, and its history. */
  readonly database: { readonly uuid: string; readonly instanceStartTime: string };
  /** To be read once. Fails with what reading the database fails with, and with what the filter fails with. */
  events(): AsyncGenerator<FeedEvent, void, void>;
  /** Ends it at once, also in the middle of a wait, and gives back what it held. May be called more than once. */
  close(): void;
}

export interface Feeds {
  /** Begins a feed at the present moment. Fails with `not_found` where there is no such database. */
  open(name: string, options: FeedOptions): Promise<Feed>;
  /** Notices from now on that a database changes, or ends; whether there is one is not looked at. To be ended. */
  watch(name: string): DatabaseWatch;
  /** Begins a feed of what happens to databases. To be closed. */
  openDatabases(): DatabaseEventFeed;
}

export interface DatabaseEvent {
  readonly type: 'created' | 'updated' | 'deleted';
  readonly name: string;
}

export interface DatabaseEventFeed {
  /** The next event; of several changes of one database that wait, one is told. `ended` is the last. One call at a time. */
  next(timeoutMs: number): Promise<DatabaseEvent | 'timeout' | 'ended'>;
  /** May be called more than once. */
  close(): void;
}

/** `deleted`: the database was. `ended`: the service ends, or the watch was ended. Nothing comes after these two. */
export type WatchOutcome = 'changed' | 'deleted' | 'ended' | 'timeout';

export interface DatabaseWatch {
  readonly hasEnded: boolean;
  /** Resolves at the first change since the last call: at once where there was one. One call at a time. */
  next(timeoutMs: number | undefined): Promise<WatchOutcome>;
  /** May be called more than once. */
  end(): void;
}
