/** What the tests of the HTTP layer work with: the service on memory, asked through its one door. */

import { Access } from '../../../src/accounts/access/access.ts';
import { ADMIN_PARTY } from '../../../src/accounts/contract.ts';
import { ByteBudget } from '../../../src/base/shared/byte-budget.ts';
import { systemRandom } from '../../../src/base/shared/clock.ts';
import type { ByteStream, PlainRequest, PlainResponse, RequestBody } from '../../../src/base/shared/message.ts';
import { ActiveTasks } from '../../../src/base/system/active-tasks.ts';
import type { Settings } from '../../../src/base/system/contract.ts';
import { Counters } from '../../../src/base/system/counters.ts';
import { silentLog } from '../../../src/base/system/log.ts';
import { Statistics } from '../../../src/base/system/statistics.ts';
import { Uuids } from '../../../src/base/system/uuids.ts';
import { createConfig } from '../../../src/core/config/config-store.ts';
import { type Core, createCore } from '../../../src/core/core.ts';
import { deferredAtHand } from '../../../src/core/deferred/deferred-code.ts';
import { Context, type Services } from '../../../src/http/request/context.ts';
import { Router } from '../../../src/http/router.ts';
import { createRoutes, type DeferredParts } from '../../../src/http/routes.ts';
import { createMemoryPageStore } from '../../../src/storage/memory-page-store.ts';

/** 2026-01-31T12:00:00Z, standing still. */
export const clock = { now: () => 1_769_860_800_000, monotonic: () => performance.now() };

export const JSON_HEADERS = { accept: 'application/json', 'content-type': 'application/json' };

export function openCore(config: Settings = {}, basePath = ''): Promise<Core> {
  const deferred = deferredAtHand();
  return createCore({ storage: createMemoryPageStore(), clock, random: systemRandom, config, basePath, deferred });
}

export interface Asked {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: RequestBody;
}

/** `what` is a method and an address. */
export async function ask(core: Core, what: string, { headers, body = null }: Asked = {}): Promise<PlainResponse> {
  const [method = '', url = ''] = what.split(' ');
  return core.handle({ method, url, headers: { ...JSON_HEADERS, ...headers }, body });
}

/** Status and parsed body. */
export async function askJson(core: Core, what: string, asked: Asked = {}): Promise<[number, unknown]> {
  const { status, body } = await ask(core, what, asked);
  return [status, JSON.parse(await textOf(body))];
}

export async function textOf(body: PlainResponse['body']): Promise<string> {
  if (body === null || typeof body === 'string') return body ?? '';
  if (body instanceof Uint8Array) return new TextDecoder().decode(body);
  let text = '';
  const decoder = new TextDecoder();
  for (let chunk = await body.pull(); chunk !== undefined; chunk = await body.pull()) {
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

/** What stands at that path in a JSON value; fails where there is nothing. */
export function pick(value: unknown, ...path: readonly (string | number)[]): unknown {
  let at = value;
  for (const step of path) {
    const members = new Map<string | number, unknown>(Array.isArray(at) ? at.entries() : Object.entries(Object(at)));
    if (!members.has(step)) throw new Error(`nothing at ${path.join('.')} of ${JSON.stringify(value)}`);
    at = members.get(step);
  }
  return at;
}

/** The named member of each row. */
export function pluck(rows: unknown, name: string): unknown[] {
  if (!Array.isArray(rows)) throw new Error(`rows were expected, not ${JSON.stringify(rows)}`);
  return rows.map((row) => pick(row, name));
}

/** Services without databases, for what needs none. */
export function services(settings: Settings = {}, changes: Partial<Services> = {}): Services {
  const config = createConfig(settings);
  const none = () => 0;
  return {
    access: new Access(config, { peek: () => undefined, use: unused, onEvent: () => () => {} }),
    registry: {
      serverUuid: 'uuid',
      settings: undefined,
      keepSettings: unused,
      notes: new Map(),
      keepNote: unused,
      openCount: 0,
      names: () => [],
      has: () => false,
      peek: () => undefined,
      create: unused,
      createIfMissing: unused,
      createByWriting: unused,
      delete: unused,
      use: unused,
      acquire: unused,
      verifyList: unused,
      onEvent: () => () => {},
      close: unused,
    },
    autoPurge: { changed: unused, plan: unused },
    feeds: { open: unused, watch: noFeed, openDatabases: noFeed },
    config,
    log: silentLog,
    clock,
    uuids: new Uuids(config, clock, systemRandom),
    tasks: new ActiveTasks(clock),
    statistics: new Statistics(clock, config, new Counters(), {
      openDatabases: none,
      openFiles: none,
      clientsOfChanges: none,
    }),
    basePath: '',
    bytesInFlight: new ByteBudget(268_435_456, 1_000),
    ...changes,
  };
}

/** For what needs none of the parts that are loaded on first use. */
export const noParts: DeferredParts = {
  accounts: unused,
  views: unused,
  design: unused,
  find: unused,
  replicator: unused,
  administration: unused,
};

export function createTestRouter(parts: Partial<DeferredParts> = {}): Router {
  return new Router(createRoutes({ ...noParts, ...parts }), unused);
}

export function contextOf(
  request: Partial<PlainRequest>,
  settings: Settings = {},
  basePath = '',
  changes: Partial<Services> = {},
): Context {
  const whole = { method: 'GET', url: '/', headers: {}, body: null, ...request };
  const context = new Context(whole, services(settings, { basePath, ...changes }));
  context.user = request.user ?? ADMIN_PARTY;
  return context;
}

/** Of a GET with that query. */
export function contextAt(search: string): Context {
  const context = contextOf({});
  context.search = search;
  return context;
}

/** A body in the given chunks. `broken`: its sender vanishes behind them. */
export function streamOf(chunks: readonly Uint8Array[], options: { broken?: boolean; length?: number } = {}) {
  const left = [...chunks];
  const seen = { pulls: 0, cancelled: false };
  const stream: ByteStream = {
    pull: async () => {
      seen.pulls++;
      const chunk = left.shift();
      if (chunk === undefined && options.broken === true) throw new Error('ECONNRESET');
      return chunk;
    },
    cancel: async () => {
      seen.cancelled = true;
    },
    ...(options.length === undefined ? {} : { length: options.length }),
  };
  return { stream, seen };
}

function noFeed(): never {
  throw new Error('this test should need no feed');
}

function unused(): Promise<never> {
  return Promise.reject(new Error('this test should need no database'));
}
