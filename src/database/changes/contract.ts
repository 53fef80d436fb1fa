/** The types of changes feeds (docs/internals.md#changes). They know nothing of HTTP: other modules write their events as text. */

import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import type { DocId, RevId } from '../documents/contract.ts';
import type { ChangeRow, Snapshot } from '../store/contract.ts';

/** A change that passed the filter. */
export interface SelectedChange {
  readonly row: ChangeRow;
  /** The row's revisions that are listed. */
  readonly revs: readonly RevId[];
}

/** Selects changes. */
export interface ChangeFilter {
  /** All documents that can pass, if they are known in advance: a feed then need not walk over the others. */
  readonly ids?: readonly DocId[];
  /** Returns the changes that pass, in their order. Called for a batch at a time; `snapshot` shows the moment of the rows, or a later one. */
  select(rows: readonly ChangeRow[], snapshot: Snapshot): MaybePromise<readonly SelectedChange[]>;
}

export interface FeedOptions {
  /** Changes after this sequence number. */
  readonly since: number | 'now';
  /** From the newest change down to the oldest; `since` is then ignored. For feeds that end by themselves. */
  readonly descending: boolean;
  /** The maximum number of changes in all; at least 1. */
  readonly limit: number;
  /** `once`: existing changes. `first`: existing changes, or else the first new ones. `on`: existing and new ones, until something ends the feed. */
  readonly lasts: 'once' | 'first' | 'on';
  /** How long the feed waits for the next change of the database; undefined for no limit. */
  readonly timeoutMs: number | undefined;
  readonly filter: ChangeFilter;
}

export type FeedEvent =
  /** `snapshot` stays available until the next event is requested. */
  | { readonly type: 'changes'; readonly changes: readonly SelectedChange[]; readonly snapshot: Snapshot }
  /** All existing changes were reported; the next may take any time. The feed holds nothing of the database meanwhile. */
  | { readonly type: 'wait'; readonly lastSeq: number }
  | {
      readonly type: 'end';
      /** Everything up to here was examined, whether it passed or not: the feed continues from here. */
      readonly lastSeq: number;
      /** The number of changes after it. */
      readonly pending: number;
      /** The database was deleted: a new database with its name counts from the start, and `lastSeq` means nothing in it. */
      readonly isDeleted: boolean;
    };

/** A feed that has begun. Must be read to its end, or closed. */
export interface Feed {
  /** The moment at which the feed began. */
  readonly moment: { readonly updateSeq: number; readonly purgeSeq: number };
  /** Identifies the database permanently, and its history. */
  readonly database: { readonly uuid: string; readonly instanceStartTime: string };
  /** Yields the events; must be read only once. Fails with the errors of reading the database and of the filter. */
  events(): AsyncGenerator<FeedEvent, void, void>;
  /**
   * Of the last event, only the first `used` changes could be used: reading more failed with that error. If the database was closed, and the feed
   * waits for it, the others come again, as they are then, when the next event is requested. Fails with the error otherwise.
   */
  takeBack(used: number, error: unknown): Promise<void>;
  /** Ends the feed at once, even in the middle of a wait, and releases what it held. May be called more than once. */
  close(): void;
}

export interface Feeds {
  /** Begins a feed at the present moment. Fails with `not_found` if there is no such database. */
  open(name: string, options: FeedOptions): Promise<Feed>;
  /** Reports from now on when a database changes or ends; does not check whether it exists. The caller must end it. */
  watch(name: string): DatabaseWatch;
  /** Begins a feed of database events. The caller must close it. */
  openDatabases(): DatabaseEventFeed;
}

export interface DatabaseEvent {
  readonly type: 'created' | 'updated' | 'deleted';
  readonly name: string;
}

export interface DatabaseEventFeed {
  /** Returns the next event; several waiting changes of one database become one event. `ended` is the last. One call at a time. */
  next(timeoutMs: number): Promise<DatabaseEvent | 'timeout' | 'ended'>;
  /** May be called more than once. */
  close(): void;
}

/** `deleted`: the database was deleted. `ended`: the service ends, or the watch was ended. Nothing follows these two. */
export type WatchOutcome = 'changed' | 'deleted' | 'ended' | 'timeout';

export interface DatabaseWatch {
  readonly hasEnded: boolean;
  /** Resolves at the first change since the last call: at once if there was one. One call at a time. */
  next(timeoutMs: number | undefined): Promise<WatchOutcome>;
  /** May be called more than once. */
  end(): void;
}
