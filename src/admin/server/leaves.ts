/** The revisions of a document that nothing has replaced: its winner and its conflicts. */
import { type JsonTree, memberOf, parseJson } from '../json/json-tree.ts';
import { exchange, parseResponse, pathOf } from './client.ts';
import { type Attachment, attachmentsOf, ownMembers, revOf } from './document.ts';

export interface Leaf {
  readonly rev: string;
  /** The document's own members, with `_id` and `_attachments`. */
  readonly tree: JsonTree;
  readonly attachments: readonly Attachment[];
}

/** Returns the leaves that are not deleted, the winner first. `winner`: its revision. */
export async function readLeaves(
  database: string,
  id: string,
  winner: string,
  signal?: AbortSignal,
): Promise<readonly Leaf[]> {
  const request = { method: 'GET', path: `${pathOf(database, id)}?open_revs=all` };
  const response = await exchange(request, signal === undefined ? {} : { signal });
  // Fails if the status is not 2xx.
  parseResponse(response, request);
  const rows = parseJson(response.text);
  const found = rows.kind === 'array' ? rows.entries.map(({ value }) => memberOf(value, 'ok')) : [];
  const leaves = found.flatMap((tree) => (tree === undefined || isDeleted(tree) ? [] : [toLeaf(tree)]));
  return leaves.sort((one, other) => Number(other.rev === winner) - Number(one.rev === winner));
}

function isDeleted(tree: JsonTree): boolean {
  const deleted = memberOf(tree, '_deleted');
  return deleted?.kind === 'boolean' && deleted.text === 'true';
}

function toLeaf(tree: JsonTree): Leaf {
  return { rev: revOf(tree), tree: ownMembers(tree), attachments: attachmentsOf(tree) };
}
