/** Feeds of changes (docs/http/changes.md) and of database events (docs/http/changes.md#database-events). */
import type { Stored } from './documents.ts';

export interface Change<T = unknown> {
  /** The `since` of a feed that continues after this change. */
  readonly seq: number;
  readonly id: string;
  /** The winning revision; with `style=all_docs` all leaves, the winner first. */
  readonly changes: readonly { readonly rev: string }[];
  readonly deleted?: true;
  /** With `include_docs`; null if it can't be read. */
  readonly doc?: Stored<T> | null;
}

/** The response of the feeds `normal` and `longpoll`. */
export interface ChangesAnswer<T = unknown> {
  readonly results: readonly Change<T>[];
  readonly last_seq: number;
  readonly pending: number;
}

/** The last line of a feed `continuous`. */
export type ChangesEnd = Omit<ChangesAnswer, 'results'>;

export interface DatabaseEvent {
  readonly db_name: string;
  readonly ok: true;
  readonly type: 'created' | 'updated' | 'deleted';
}
