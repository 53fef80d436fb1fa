/** Creating and deleting indexes of selectors, after a review. */
import { review } from '../review/review.tsx';
import { ask, pathOf, type ServerRequest } from '../server/client.ts';
import { REPLICATES } from '../server/peers.ts';
import { fieldNames } from './explain.ts';
import type { SelectorIndex } from './selector-indexes.ts';
import type { IndexDefinition } from './selector-query.ts';

/** Reviews the request that creates the index. `done` runs when it is created. */
export function makeIndex(
  database: string,
  index: IndexDefinition,
  documents: number | undefined,
  done: () => void,
): void {
  const name = `by-${fieldNames(index.fields).join('-')}`.replace(/[^\w.-]/g, '-');
  const json = { index, ddoc: name, name };
  const path = pathOf(database, '_index');
  review({
    title: `Make an index by ${fieldNames(index.fields).join(', ')}`,
    effects: [
      `It is stored as the design document _design/${name}, which ${REPLICATES}.`,
      `The first query that uses it waits until ${documents === undefined ? 'all' : `all ${documents.toLocaleString('en')}`} documents were read once. Afterwards every write is added to it before the next query.`,
    ],
    requests: [{ method: 'POST', path, json: JSON.stringify(json) }],
    action: 'Make index',
    adminOf: database,
    apply: async () => {
      await ask('POST', path, { json });
      done();
    },
  });
}

/** Reviews the request that deletes the index. `done` runs when it is deleted. */
export function deleteIndex(database: string, { ddoc, name, fields }: SelectorIndex, done: () => void): void {
  const request: ServerRequest = { method: 'DELETE', path: pathOf(database, '_index', ddoc, 'json', name) };
  review({
    title: `Delete the index ${name}`,
    effects: [
      `Queries by ${fields.join(', ')} use another index, or read all documents. No document is lost.`,
      `If no other index is in _design/${ddoc}, that document is deleted, and the deletion replicates to peers.`,
    ],
    requests: [request],
    action: 'Delete',
    adminOf: database,
    apply: async () => {
      await ask(request.method, request.path);
      done();
    },
  });
}
