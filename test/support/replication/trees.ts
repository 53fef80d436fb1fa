/** All leaves of all documents, in a form that is the same for databases of all kinds: PouchDB's in this process, and those at an address. */
import type PouchDB from 'pouchdb-core';
import { documentPath } from '../../../src/replication/peers/identifiers.ts';
import { arrayAt, at } from '../conformance/json.ts';

export interface Tree {
  readonly winner: string;
  readonly leaves: readonly string[];
}

export type Trees = Readonly<Record<string, Tree>>;

interface Reader {
  /** Rows of a feed with the winners. */
  changes(): Promise<readonly unknown[]>;
  /** The response to `open_revs=all` with `revs` and `attachments`. */
  leaves(id: string): Promise<readonly unknown[]>;
}

export async function treesOfPouch(database: PouchDB): Promise<Trees> {
  return readTrees({
    changes: async () => arrayAt(await database.changes(), 'results'),
    leaves: async (id) => arrayAt(await database.get(id, { open_revs: 'all', revs: true, attachments: true })),
  });
}

/** `ask` returns the parsed response to `GET` below the database. */
export async function treesBehind(ask: (path: string) => Promise<unknown>): Promise<Trees> {
  return readTrees({
    changes: async () => arrayAt(await ask('/_changes'), 'results'),
    leaves: async (id) => arrayAt(await ask(`${documentPath(id)}?open_revs=all&revs=true&attachments=true`)),
  });
}

export function treesAt(url: string): Promise<Trees> {
  return treesBehind(async (path) =>
    (await fetch(`${url}${path}`, { headers: { accept: 'application/json' } })).json(),
  );
}

async function readTrees({ changes, leaves }: Reader): Promise<Trees> {
  const trees: [string, Tree][] = [];
  for (const row of await changes()) {
    const id = String(at(row, 'id'));
    const found = (await leaves(id)).map((leaf) => leafText(at(leaf, 'ok')));
    trees.push([id, { winner: String(at(row, 'changes', 0, 'rev')), leaves: found.sort() }]);
  }
  return Object.fromEntries(trees.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The members of a leaf in order; for attachments only those on which all servers agree. */
function leafText(leaf: unknown): string {
  const { _attachments = {}, ...rest } = Object(leaf);
  const attachments = Object.entries(_attachments).map(([name, entry]) => [
    name,
    [at(entry, 'content_type'), at(entry, 'data')],
  ]);
  return JSON.stringify(sorted({ ...rest, _attachments: Object.fromEntries(attachments) }));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([name, member]) => [name, sorted(member)] as const);
  return Object.fromEntries(members.sort(([one], [other]) => (one < other ? -1 : 1)));
}
