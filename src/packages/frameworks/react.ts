/**
 * `settee/react`: hooks that follow a database. They read again whenever something changes, in any tab or by a sync. On a server that renders,
 * they send no requests, and return `loading`.
 *
 *     const { documents, status } = useQuery(notes, { selector: { done: false } });
 */
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { Database, GetOptions } from '../database-client/contract.ts';
import type { Sync, SyncStatus } from '../database-client/sync/contract.ts';
import type { Stored } from '../interface/documents.ts';
import type { ViewOptions, ViewRow } from '../interface/lists.ts';
import type { FindQuery } from '../interface/selectors.ts';
import { type DocumentState, documentQuestion, LiveDocument } from './live-document.ts';
import { LiveQuery, LiveView, type QueryState, type ViewState, viewQuestion } from './live-query.ts';
import { followSync } from './live-sync.ts';
import type { Followable } from './live-value.ts';

export type { DocumentState } from './live-document.ts';
export type { QueryState, ViewState } from './live-query.ts';
export type { LiveState, LiveStatus } from './live-value.ts';

/** One document, with `options` as of `get`. No id: `idle`. */
export function useDocument<T extends object>(
  database: Database<T>,
  id: string | undefined,
  options?: GetOptions,
): DocumentState<T> {
  return useLive(database, documentQuestion(id, options), LiveDocument<T>);
}

/** The documents that a selector finds; 25, unless `limit` says otherwise. No query: `idle`. The object may be another one at each rendering. */
export function useQuery<T extends object, Field extends keyof Stored<T> & string = keyof Stored<T> & string>(
  database: Database<T>,
  query: FindQuery<T, Field | `${string}.${string}`> | undefined,
): QueryState<Pick<Stored<T>, Field>> {
  return useLive(database, query, LiveQuery<T, Pick<Stored<T>, Field>>);
}

/** The rows of a view `design/name`. For a reduced view or one with documents, `Row` is the type of its rows. No name: `idle`. */
export function useView<Row extends object = ViewRow<unknown, unknown>, T extends object = Record<string, unknown>>(
  database: Database<T>,
  name: string | undefined,
  options?: ViewOptions,
): ViewState<Row> {
  return useLive(database, viewQuestion(name, options), LiveView<T, Row>);
}

/** The status of a sync; undefined if there is none. */
export function useSync(sync: Sync | undefined): SyncStatus | undefined {
  const followed = useMemo(() => followSync(sync), [sync]);
  return useSyncExternalStore(followed.subscribe, followed.get, noStatus);
}

function noStatus(): undefined {
  return undefined;
}

interface Live<Question, State> extends Followable<State> {
  ask(question: Question | undefined): void;
  stateFor(question: Question | undefined): State;
}

function useLive<T extends object, Question, State>(
  database: Database<T>,
  question: Question | undefined,
  Kind: new (database: Database<T>, question: Question | undefined) => Live<Question, State>,
): State {
  // One for each database: a new question is asked of it below, so that the former result stays until then.
  const live = useMemo(() => new Kind(database, question), [database]);
  useEffect(() => live.ask(question));
  const state = useSyncExternalStore(live.subscribe, live.get, live.get);
  // It is asked after this rendering, which must not show the answer to another question.
  return useMemo(() => live.stateFor(question), [live, state, JSON.stringify(question)]);
}
