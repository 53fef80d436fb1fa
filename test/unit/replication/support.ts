/** What the tests of replications work with: cores on memory, and runs between their databases. */

import { systemClock, systemRandom } from '../../../src/base/shared/clock.ts';
import type { Handle } from '../../../src/base/shared/message.ts';
import type { Settings } from '../../../src/base/system/contract.ts';
import { silentLog } from '../../../src/base/system/log.ts';
import { type Core, createCore } from '../../../src/core/core.ts';
import { deferredAtHand } from '../../../src/core/deferred/deferred-code.ts';
import type {
  Endpoint,
  RefusedDocument,
  Replication,
  ReplicatorHost,
  RunObserver,
  RunResult,
  RunStats,
} from '../../../src/replication/contract.ts';
import { runReplication } from '../../../src/replication/run/replication-run.ts';
import { createMemoryPageStore } from '../../../src/storage/memory-page-store.ts';
import { type Asked, ask, askJson, pick } from '../http/support.ts';

export { ask, askJson, pick };

/** With the machine's clock. */
export function newCore(config: Settings = {}): Promise<Core> {
  const deferred = deferredAtHand();
  return createCore({ storage: createMemoryPageStore(), clock: systemClock, random: systemRandom, config, deferred });
}

export function local(name: string): Endpoint {
  return { kind: 'local', name };
}

export function remote(url: string, more: Partial<Extract<Endpoint, { kind: 'remote' }>> = {}): Endpoint {
  return { kind: 'remote', url, headers: {}, credentials: undefined, proxy: undefined, ...more };
}

export function replicationOf(source: Endpoint, target: Endpoint, more: Partial<Replication> = {}): Replication {
  return {
    source,
    target,
    continuous: false,
    createTarget: false,
    selection: undefined,
    sinceSeq: undefined,
    useCheckpoints: true,
    checkpointIntervalMs: 5_000,
    batchSize: 500,
    workers: 4,
    connections: 20,
    connectionTimeoutMs: 30_000,
    retriesPerRequest: 3,
    user: { name: null, roles: ['_admin'] },
    asker: { isAdmin: true },
    ...more,
  };
}

export function hostOf(handle: Handle, more: Partial<ReplicatorHost> = {}): ReplicatorHost {
  return {
    handle,
    fetch: globalThis.fetch,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    basePath: '',
    serverUuid: 'test',
    ...more,
  };
}

/** A run, with what it told. */
export interface Run {
  readonly result: Promise<RunResult>;
  readonly refused: RefusedDocument[];
  readonly figures: () => RunStats;
  /** Resolves when it has nothing to do, at once where it has not. */
  idle(): Promise<void>;
  stop(): Promise<unknown>;
}

export function begin(
  host: ReplicatorHost,
  replication: Replication,
  checkpointId = 'checkpoint',
  more: Partial<RunObserver> = {},
): Run {
  const refused: RefusedDocument[] = [];
  let figures: RunStats | undefined;
  let isIdle = false;
  let waiting: (() => void)[] = [];
  const controller = new AbortController();
  const observer = {
    progress: (now: RunStats) => {
      figures = now;
    },
    refused: (document: RefusedDocument) => void refused.push(document),
    listed: () => undefined,
    idle: (now: boolean) => {
      isIdle = now;
      if (now) for (const wake of waiting.splice(0)) wake();
    },
    ...more,
  };
  const result = runReplication(replication, checkpointId, host, observer, controller.signal);
  result.catch(() => {
    for (const wake of waiting) wake();
    waiting = [];
  });
  return {
    result,
    refused,
    figures: () => {
      if (figures === undefined) throw new Error('nothing was told');
      return figures;
    },
    idle: () => (isIdle ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    stop: () => {
      controller.abort();
      return result.catch((failure: unknown) => failure);
    },
  };
}

export function run(host: ReplicatorHost, replication: Replication, checkpointId?: string): Promise<RunResult> {
  return begin(host, replication, checkpointId).result;
}

/** Sends a request and gives the answer's body; fails where it is no success. */
export async function must(core: Core, what: string, body?: unknown, asked: Asked = {}): Promise<unknown> {
  const given = body === undefined ? asked : { ...asked, body: JSON.stringify(body) };
  const [status, answer] = await askJson(core, what, given);
  if (status >= 300) throw new Error(`${what}: ${status} ${JSON.stringify(answer)}`);
  return answer;
}

/** All leaves of all documents with their ancestry, content and attachments: what two databases have to have in common. */
export async function treesOf(core: Core, database: string): Promise<Record<string, unknown>> {
  const changes = pick(await must(core, `GET /${database}/_changes?style=all_docs`), 'results');
  if (!Array.isArray(changes)) throw new Error('no changes');
  const trees: Record<string, unknown> = {};
  for (const row of changes) {
    const id = String(pick(row, 'id'));
    const path = `/${database}/${encodeURIComponent(id)}?open_revs=all&revs=true&attachments=true`;
    const leaves: unknown = await must(core, `GET ${path}`);
    if (!Array.isArray(leaves)) throw new Error('no leaves');
    const texts = leaves.map((leaf) => JSON.stringify(leaf)).sort();
    trees[id] = { winner: pick(row, 'changes', 0, 'rev'), leaves: texts };
  }
  return Object.fromEntries(Object.entries(trees).sort(([one], [other]) => (one < other ? -1 : 1)));
}
