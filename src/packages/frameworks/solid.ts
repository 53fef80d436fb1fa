/**
 * `settee/solid`: primitives that follow a database. They read again whenever something changes, in any tab or by a sync. On a server that
 * renders, they send no requests, and return `loading`. What is asked may be an accessor.
 *
 *     const open = useQuery(notes, () => ({ selector: { list: props.list } }));
 *     <For each={open().documents}>{(note) => <li>{note.text}</li>}</For>
 */
import { type Accessor, createEffect, createSignal, onCleanup, untrack } from 'solid-js';
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

export type MaybeAccessor<Value> = Value | Accessor<Value>;

/** One document, with `options` as of `get`. No id: `idle`. */
export function useDocument<T extends object>(
  database: Database<T>,
  id: MaybeAccessor<string | undefined>,
  options?: MaybeAccessor<GetOptions | undefined>,
): Accessor<DocumentState<T>> {
  const question = () => documentQuestion(resolve(id), resolve(options));
  return shownOf(new LiveDocument(database, untrack(question)), question);
}

/** The documents that a selector finds; 25, unless `limit` says otherwise. No query: `idle`. */
export function useQuery<T extends object, Field extends keyof Stored<T> & string = keyof Stored<T> & string>(
  database: Database<T>,
  query: MaybeAccessor<FindQuery<T, Field | `${string}.${string}`> | undefined>,
): Accessor<QueryState<Pick<Stored<T>, Field>>> {
  const question = () => resolve(query);
  return shownOf(new LiveQuery<T, Pick<Stored<T>, Field>>(database, untrack(question)), question);
}

/** The rows of a view `design/name`. For a reduced view or one with documents, `Row` is the type of its rows. No name: `idle`. */
export function useView<Row extends object = ViewRow<unknown, unknown>, T extends object = Record<string, unknown>>(
  database: Database<T>,
  name: MaybeAccessor<string | undefined>,
  options?: MaybeAccessor<ViewOptions | undefined>,
): Accessor<ViewState<Row>> {
  const question = () => viewQuestion(resolve(name), resolve(options));
  return shownOf(new LiveView<T, Row>(database, untrack(question)), question);
}

/** The status of a sync; undefined if there is none. */
export function useSync(sync: MaybeAccessor<Sync | undefined>): Accessor<SyncStatus | undefined> {
  const [shown, show] = createSignal<SyncStatus | undefined>(undefined);
  createEffect(() => follow(followSync(resolve(sync)), (status) => show(() => status)));
  return shown;
}

function shownOf<Question, State>(
  live: Followable<State> & { ask(question: Question | undefined): void },
  question: () => Question | undefined,
): Accessor<State> {
  const [shown, show] = createSignal(live.get());
  createEffect(() => live.ask(question()));
  createEffect(() => follow(live, (state) => show(() => state)));
  return shown;
}

/** Until the effect in which it is called ends. */
function follow<State>(followed: Followable<State>, show: (state: State) => void): void {
  const take = () => show(followed.get());
  onCleanup(followed.subscribe(take));
  take();
}

function resolve<Value>(given: MaybeAccessor<Value>): Value {
  return typeof given === 'function' ? (given as Accessor<Value>)() : given;
}
