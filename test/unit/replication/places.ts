/** Two databases between which the tests copy: each in the service's own process, or at a Node server on LMDB, which is asked over HTTP. */

import type { Handle, PlainResponse } from '../../../src/base/shared/message.ts';
import type { Core } from '../../../src/core/core.ts';
import type { Endpoint, ReplicatorHost } from '../../../src/replication/contract.ts';
import { NodeHost } from '../../support/conformance/node-host.ts';
import { textOf } from '../http/support.ts';
import { hostOf, local, newCore, remote } from './support.ts';

export type Kind = 'local' | 'remote';

export const COMBINATIONS: readonly (readonly [Kind, Kind])[] = [
  ['local', 'local'],
  ['local', 'remote'],
  ['remote', 'local'],
  ['remote', 'remote'],
];

/** A database that a test asks directly. */
export interface Place {
  readonly endpoint: Endpoint;
  /** `path` is below the database. */
  ask(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Asked>;
}

export interface Asked {
  readonly status: number;
  readonly value: unknown;
  readonly text: string;
}

export class World {
  readonly core: Core;
  readonly server: NodeHost;
  readonly host: ReplicatorHost;
  #names = 0;

  private constructor(core: Core, server: NodeHost) {
    this.core = core;
    this.server = server;
    this.host = hostOf(core.handle);
  }

  static async open(): Promise<World> {
    return new World(await newCore(), await NodeHost.start());
  }

  async close(): Promise<void> {
    await this.core.close();
    await this.server.close();
  }

  /** A new database. */
  async place(kind: Kind): Promise<Place> {
    const name = `db-${++this.#names}`;
    const place = kind === 'local' ? this.#localPlace(name) : this.#remotePlace(name);
    await place.ask('PUT', '');
    return place;
  }

  #localPlace(name: string): Place {
    return { endpoint: local(name), ask: (...asked) => askHandle(this.core.handle, `/${name}`, ...asked) };
  }

  #remotePlace(name: string): Place {
    const url = `${this.server.baseUrl}/${name}`;
    return {
      endpoint: remote(url),
      ask: async (method, path, body, headers = {}) => {
        const response = await fetch(`${url}${path}`, { method, ...sent(body, headers) });
        const text = await response.text();
        return { status: response.status, text, value: toValue(text) };
      },
    };
  }
}

function sent(body: unknown, headers: Readonly<Record<string, string>>) {
  const own = { accept: 'application/json', 'content-type': 'application/json', ...headers };
  if (body === undefined) return { headers: own };
  return { headers: own, body: body instanceof Uint8Array ? new Uint8Array(body) : JSON.stringify(body) };
}

async function askHandle(
  handle: Handle,
  base: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Asked> {
  const given = sent(body, headers);
  const response: PlainResponse = await handle({
    method,
    url: `${base}${path}`,
    headers: given.headers,
    body: 'body' in given ? (given.body ?? null) : null,
  });
  const text = await textOf(response.body);
  return { status: response.status, text, value: toValue(text) };
}

function toValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** All leaves of all documents with their ancestry, content and attachments: what two databases have to have in common. */
export async function treesOf(place: Place): Promise<Record<string, unknown>> {
  const { value } = await place.ask('GET', '/_changes?style=all_docs');
  const trees: Record<string, unknown> = {};
  for (const { id, changes } of rowsOf(value)) {
    const leaves = await place.ask('GET', `/${encodeURIComponent(id)}?open_revs=all&revs=true&attachments=true`);
    if (!Array.isArray(leaves.value)) throw new Error(`no leaves of ${id}: ${leaves.text}`);
    trees[id] = { winner: changes[0], leaves: leaves.value.map((leaf) => JSON.stringify(leaf)).sort() };
  }
  return Object.fromEntries(Object.entries(trees).sort(([one], [other]) => (one < other ? -1 : 1)));
}

function rowsOf(value: unknown): readonly { id: string; changes: readonly unknown[] }[] {
  const results: unknown = Object(value).results;
  if (!Array.isArray(results)) throw new Error(`no changes: ${JSON.stringify(value)}`);
  return results;
}
