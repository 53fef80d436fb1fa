/** What the tests use of `@tanstack/db`: the other tests are compiled without it. `types.test.ts` checks the real types. */
interface Transaction {
  readonly isPersisted: { readonly promise: Promise<unknown> };
}

interface Change<Row> {
  readonly type: string;
  readonly key: string;
  readonly value: Row;
}

export interface Followed<Row> {
  readonly size: number;
  readonly status: string;
  readonly toArray: readonly Row[];
  get(key: string): Row | undefined;
  has(key: string): boolean;
  preload(): Promise<void>;
  cleanup(): Promise<void>;
  subscribeChanges(onChange: (changes: readonly Change<Row>[]) => void): { unsubscribe(): void };
}

type Draft<Row> = { -readonly [Member in keyof Row]: Row[Member] };

export interface Collection<Row> extends Followed<Row> {
  insert(rows: Row | Row[]): Transaction;
  update(key: string, change: (draft: Draft<Row>) => void): Transaction;
  update(keys: string[], change: (drafts: Draft<Row>[]) => void): Transaction;
  delete(key: string): Transaction;
}

interface Order {
  readonly direction: 'asc' | 'desc';
  readonly stringSort: 'lexical' | 'locale';
}

interface Query<Row> {
  where(condition: (sources: { readonly note: Row }) => unknown): Query<Row>;
  orderBy(value: (sources: { readonly note: Row }) => unknown, order?: 'asc' | 'desc' | Order): Query<Row>;
  limit(count: number): Query<Row>;
}

interface QueryStart {
  from<Row>(sources: { readonly note: Collection<Row> }): Query<Row>;
}

export interface LiveQuery<Row> extends Followed<Row> {
  readonly utils: { setWindow(window: { readonly offset: number; readonly limit: number }): unknown };
}

export type CreateCollection = <Row>(options: { readonly getKey: (row: Row) => string }) => Collection<Row>;
export const createCollection: CreateCollection;
export const BasicIndex: unknown;
export type CreateLiveQueryCollection = <Row>(build: (query: QueryStart) => Query<Row>) => LiveQuery<Row>;
export const createLiveQueryCollection: CreateLiveQueryCollection;
export function eq(left: unknown, right: unknown): unknown;
export function gt(left: unknown, right: unknown): unknown;
export function inArray(left: unknown, right: unknown): unknown;
export function like(left: unknown, right: unknown): unknown;
export function lt(left: unknown, right: unknown): unknown;
export function lte(left: unknown, right: unknown): unknown;
export const oldest: Omit<typeof import('./tanstack-db.mjs'), 'oldest'>;
