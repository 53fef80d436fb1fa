/**
 * `settee/svelte`: what follows a database, for runes (`.current`) and as stores (`$notes`). It reads again whenever something changes, in any tab
 * or by a sync. On a server that renders, it sends no requests, and is `loading`. With runes, what is asked may be a getter.
 *
 *     const open = useQuery(notes, () => ({ selector: { list: list.id } }));
 *     {#each open.current.documents as note (note._id)}
 */
import { createSubscriber } from 'svelte/reactivity';
import type { Database, GetOptions } from '../database-client/contract.ts';
import type { Sync, SyncStatus } from '../database-client/sync/contract.ts';
import type { Stored } from '../interface/documents.ts';
import type { ViewOptions, ViewRow } from '../interface/lists.ts';
import type { FindQuery } from '../interface/selectors.ts';
import { type DocumentState, documentQuestion, LiveDocument } from './live-document.ts';
import { LiveQuery, LiveView, type QueryState, type ViewState, viewQuestion } from './live-query.ts';
import { followSync } from './live-sync.ts';
import { type Followable, isOnServer } from './live-value.ts';

export type { DocumentState } from './live-document.ts';
export type { QueryState, ViewState } from './live-query.ts';
export type { LiveState, LiveStatus } from './live-value.ts';

export type MaybeGetter<Value> = Value | (() => Value);

export interface Shown<State> {
  /** Reactive where runes are. */
  readonly current: State;
  /** The contract of stores: calls `run` immediately, and at each change. */
  subscribe(run: (state: State) => void): () => void;
}

/** One document, with `options` as of `get`. No id: `idle`. */
export function useDocument<T extends object>(
  database: Database<T>,
  id: MaybeGetter<string | undefined>,
  options?: MaybeGetter<GetOptions | undefined>,
): Shown<DocumentState<T>> {
  const question = () => documentQuestion(resolve(id), resolve(options));
  return shownOf(new LiveDocument(database, undefined), question);
}

/** The documents that a selector finds; 25, unless `limit` says otherwise. No query: `idle`. */
export function useQuery<T extends object, Field extends keyof Stored<T> & string = keyof Stored<T> & string>(
  database: Database<T>,
  query: MaybeGetter<FindQuery<T, Field | `${string}.${string}`> | undefined>,
): Shown<QueryState<Pick<Stored<T>, Field>>> {
  return shownOf(new LiveQuery<T, Pick<Stored<T>, Field>>(database, undefined), () => resolve(query));
}

/** The rows of a view `design/name`. For a reduced view or one with documents, `Row` is the type of its rows. No name: `idle`. */
export function useView<Row extends object = ViewRow<unknown, unknown>, T extends object = Record<string, unknown>>(
  database: Database<T>,
  name: MaybeGetter<string | undefined>,
  options?: MaybeGetter<ViewOptions | undefined>,
): Shown<ViewState<Row>> {
  const question = () => viewQuestion(resolve(name), resolve(options));
  return shownOf(new LiveView<T, Row>(database, undefined), question);
}

/** The status of a sync; undefined if there is none. */
export function useSync(sync: Sync | undefined): Shown<SyncStatus | undefined> {
  return shownOf({ ...followSync(sync), ask: () => undefined }, () => undefined);
}

function shownOf<Question, State>(
  live: Followable<State> & { ask(question: Question | undefined): void },
  question: () => Question | undefined,
): Shown<State> {
  const track = createSubscriber((update) => live.subscribe(update));
  const current = () => {
    // What reads this depends on the state that the question is made of.
    live.ask(question());
    track();
    return live.get();
  };
  return {
    get current() {
      return current();
    },
    subscribe: (run) => {
      live.ask(question());
      run(live.get());
      if (isOnServer()) return () => {};
      return live.subscribe(() => run(live.get()));
    },
  };
}

function resolve<Value>(given: MaybeGetter<Value>): Value {
  return typeof given === 'function' ? (given as () => Value)() : given;
}
