import { afterEach, vi } from 'vitest';
import { MemoryService } from '../../src/browser/msw/memory-service.ts';
import { readQuickJsWasm } from '../../src/node/server/platform.ts';
import { database, type Fetch } from '../../src/packages/database-client/index.ts';
import {
  type Row,
  type SetteeCollectionOptions,
  setteeCollectionOptions,
} from '../../src/packages/frameworks/tanstack.ts';
import { patient } from '../support/patience.ts';
import * as newest from './tanstack-db.mjs';

export interface Note {
  text: string;
  list?: string;
  stars?: number;
  created?: string;
}

/** What is to be done after a test, the last one first. */
export const ends: (() => unknown)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

interface List {
  readonly docs?: readonly unknown[];
  readonly rows?: readonly unknown[];
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** `results` of several queries of a view, among others. */
  readonly answer: List & { readonly results?: readonly List[] };
}

/** A database in memory, and what was requested of it. `hold` delays the response of requests until it resolves. */
export async function open({ create = true } = {}) {
  const service = new MemoryService({ basePath: '/db', config: {} }, readQuickJsWasm);
  ends.push(() => service.reset());
  const asked: Asked[] = [];
  const state: {
    failure?: Error | undefined;
    hold?: ((method: string) => Promise<void> | undefined) | undefined;
    /** Requests to such addresses are refused with 401. */
    refused?: RegExp | undefined;
  } = {};
  const fetch: Fetch = async (address, init) => {
    if (state.failure !== undefined) throw state.failure;
    await state.hold?.(init.method);
    if (state.refused?.test(address)) {
      asked.push({ method: init.method, path: address, body: undefined, answer: {} });
      return Response.json({ error: 'unauthorized', reason: 'Log in.' }, { status: 401 });
    }
    const response = await service.fetch(new Request(new URL(address, 'http://localhost'), init as RequestInit));
    const path = address.replace(/^\/db\/notes|\?.*/g, '');
    const body = typeof init.body === 'string' ? JSON.parse(init.body) : undefined;
    asked.push({ method: init.method, path, body, answer: (await response.clone().json()) as Asked['answer'] });
    return response;
  };
  const notes = database<Note>(fetch, '/db/notes');
  if (create) await notes.create();
  const rowsOf = (path: string) =>
    asked.filter((request) => request.path === path).reduce((sum, { answer }) => sum + (answer.docs?.length ?? 0), 0);
  return { notes, asked, state, rowsOf };
}

export type Version = typeof newest.oldest;

export function collect(
  options: SetteeCollectionOptions<Note>,
  { BasicIndex, createCollection }: Version = newest,
): newest.Collection<Row<Note>> {
  const indexes = options.syncMode === 'on-demand' && { autoIndex: 'eager', defaultIndexType: BasicIndex };
  const collection = createCollection({ ...setteeCollectionOptions(options), ...indexes });
  ends.push(() => collection.cleanup());
  return collection;
}

export function texts(collection: { readonly toArray: readonly { readonly text: string }[] }): string[] {
  return collection.toArray.map(({ text }) => text).sort();
}

export const until = (check: () => void) => vi.waitFor(check, { ...patient, interval: 5 });

/** A query that stays, with what it has been given. */
export function show<
  Query extends { subscribeChanges(onChange: () => void): { unsubscribe(): void }; cleanup(): unknown },
>(query: Query): Query {
  const subscription = query.subscribeChanges(() => undefined);
  ends.push(async () => {
    subscription.unsubscribe();
    await query.cleanup();
  });
  return query;
}
