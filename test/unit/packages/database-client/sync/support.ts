/** A sync that a test waits for, and a local service that answers as the test says. */
import { onTestFinished } from 'vitest';
import type { Fetch } from '../../../../../src/packages/database-client/contract.ts';
import type { Sync, SyncEvents, SyncStatus } from '../../../../../src/packages/database-client/index.ts';

/** Resolves with the status once it is as it should be. */
export function until(sync: Sync, isDone: (status: SyncStatus) => boolean): Promise<SyncStatus> {
  return new Promise((resolve) => {
    const look = () => {
      if (!isDone(sync.status())) return;
      sync.removeEventListener('status', look);
      resolve(sync.status());
    };
    sync.addEventListener('status', look);
    look();
  });
}

const TYPES = [
  ...(['change', 'active', 'paused', 'offline', 'denied', 'unauthorized', 'error', 'complete', 'stopped'] as const),
];

/** The events from now on, as `type` or `type direction`. */
export function recordEvents(sync: Sync): string[] {
  const events: string[] = [];
  for (const type of TYPES) {
    sync.addEventListener(type, ({ detail }: SyncEvents[typeof type]) => {
      events.push('direction' in detail ? `${type} ${detail.direction}` : type);
    });
  }
  return events;
}

/** Ends its requests with the test. */
export function closing<Closed extends Pick<Sync, 'close'>>(sync: Closed): Closed {
  onTestFinished(() => sync.close());
  return sync;
}

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
}

/** The local service: documents of `_replicator`, and what `_scheduler/docs` says of them. */
export class FakeService {
  readonly documents = new Map<string, Record<string, unknown>>();
  /** By id. What is not there is 404. */
  readonly entries = new Map<string, object>();
  /** Without those of feeds. */
  readonly asked: Asked[] = [];
  userCtx: object = { name: null, roles: ['_admin'] };
  /** Answers instead of the service: a status, or nothing. */
  fault: ((asked: Asked) => number | undefined) | undefined;
  readonly #feeds = new Set<() => void>();
  #writes = 0;

  readonly fetch: Fetch = async (address, { method, body, signal }) => {
    const { pathname, search } = new URL(address);
    const path = decodeURIComponent(pathname) + search;
    if (path.includes('/_changes')) return this.#feed(signal);
    const asked = { method, path, body: typeof body === 'string' ? JSON.parse(body) : undefined };
    this.asked.push(asked);
    const status = this.fault?.(asked);
    if (status !== undefined) return answer(status, { error: status === 401 ? 'unauthorized' : 'fault', reason: 'no' });
    return this.#answer(asked);
  };

  /** Something has changed in a database. */
  change(): void {
    for (const end of this.#feeds) end();
  }

  #feed(signal: AbortSignal | undefined): Promise<Response> {
    return new Promise((resolve, reject) => {
      const end = () => resolve(answer(200, { results: [{}], last_seq: 1 }));
      this.#feeds.add(end);
      signal?.addEventListener('abort', () => reject(signal.reason));
    });
  }

  #answer({ method, path, body }: Asked): Response {
    if (path === '/_session') return answer(200, { ok: true, userCtx: this.userCtx, info: {} });
    if (path.startsWith('/_scheduler/docs/_replicator/')) return found(this.entries.get(path.slice(29)));
    if (path === '/_replicate') return answer(202, { ok: true });
    if (!path.startsWith('/_replicator/')) return answer(201, { ok: true });
    const [id = ''] = path.slice(13).split('?rev=');
    if (method === 'GET') return found(this.documents.get(id));
    if (method === 'DELETE') this.documents.delete(id);
    else this.documents.set(id, { ...Object(body), _rev: `${++this.#writes}-x` });
    return answer(200, { ok: true, id, rev: `${this.#writes}-x` });
  }
}

function found(json: object | undefined): Response {
  return json ? answer(200, json) : answer(404, { error: 'not_found', reason: 'missing' });
}

function answer(status: number, json: object): Response {
  return new Response(JSON.stringify(json), { status });
}
