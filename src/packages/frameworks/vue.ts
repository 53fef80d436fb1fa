/**
 * `settee/vue`: composables that follow a database. They read again whenever something changes, in any tab or by a sync. On a server that
 * renders, they send no requests, and return `loading`. What is asked may be a ref or a getter.
 *
 *     const notesOfToday = useQuery(notes, () => ({ selector: { day: day.value } }));
 */
import { type MaybeRefOrGetter, onScopeDispose, type ShallowRef, shallowRef, toValue, watch } from 'vue';
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

type Shown<State> = Readonly<ShallowRef<State>>;

/** One document, with `options` as of `get`. No id: `idle`. */
export function useDocument<T extends object>(
  database: Database<T>,
  id: MaybeRefOrGetter<string | undefined>,
  options?: MaybeRefOrGetter<GetOptions | undefined>,
): Shown<DocumentState<T>> {
  const question = () => documentQuestion(toValue(id), toValue(options));
  return useLive(new LiveDocument(database, question()), question);
}

/** The documents that a selector finds; 25, unless `limit` says otherwise. No query: `idle`. */
export function useQuery<T extends object, Field extends keyof Stored<T> & string = keyof Stored<T> & string>(
  database: Database<T>,
  query: MaybeRefOrGetter<FindQuery<T, Field | `${string}.${string}`> | undefined>,
): Shown<QueryState<Pick<Stored<T>, Field>>> {
  return useLive(new LiveQuery<T, Pick<Stored<T>, Field>>(database, toValue(query)), () => toValue(query));
}

/** The rows of a view `design/name`. For a reduced view or one with documents, `Row` is the type of its rows. No name: `idle`. */
export function useView<Row extends object = ViewRow<unknown, unknown>, T extends object = Record<string, unknown>>(
  database: Database<T>,
  name: MaybeRefOrGetter<string | undefined>,
  options?: MaybeRefOrGetter<ViewOptions | undefined>,
): Shown<ViewState<Row>> {
  const question = () => viewQuestion(toValue(name), toValue(options));
  return useLive(new LiveView<T, Row>(database, question()), question);
}

/** The status of a sync; undefined if there is none. */
export function useSync(sync: MaybeRefOrGetter<Sync | undefined>): Shown<SyncStatus | undefined> {
  const shown = shallowRef<SyncStatus | undefined>(undefined);
  let stop = () => {};
  const follow = (current: Sync | undefined) => {
    stop();
    stop = show(followSync(current), shown);
  };
  // A server that renders disposes of no scope.
  if (!isOnServer()) watch(() => toValue(sync), follow, { immediate: true });
  onScopeDispose(() => stop());
  return shown;
}

function useLive<Question, State>(
  live: Followable<State> & { ask(question: Question | undefined): void },
  question: () => Question | undefined,
): Shown<State> {
  const shown = shallowRef(live.get());
  if (isOnServer()) return shown;
  // The text follows everything inside of the question.
  watch(
    () => JSON.stringify(question()),
    () => live.ask(question()),
  );
  onScopeDispose(show(live, shown));
  return shown;
}

function show<State>(followed: Followable<State>, shown: ShallowRef<State>): () => void {
  const take = () => {
    shown.value = followed.get();
  };
  const stop = followed.subscribe(take);
  take();
  return stop;
}
