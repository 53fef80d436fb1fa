/** Which revisions `open_revs` and `_bulk_get` read (docs/http.md#open-revisions). */
import type { DocumentRecord, Snapshot, StoredNode } from '../../database/contract.ts';
import type { RevId } from '../../documents/contract.ts';
import { findNode, leavesFrom } from '../../documents/revisions/revision-tree.ts';
import { toRevision } from '../../documents/revisions/revisions.ts';
import { documentText, type MetaFlags, metaOf } from './document-rendering.ts';
import type { RenderedDocument } from './inline-attachments.ts';

/** A revision of a document that is there, or the name of one that isn't. */
export type Selected =
  | { readonly record: DocumentRecord; readonly node: StoredNode }
  | { readonly record?: undefined; readonly missing: RevId };

/**
 * The asked revisions in their order; with `latest` each is replaced by the leaves that descend from it, and a leaf that
 * several of them lead to is given once. `all` gives every leaf, deleted ones too.
 */
export function selectRevisions(
  record: DocumentRecord | undefined,
  wanted: 'all' | readonly RevId[],
  latest: boolean,
): Selected[] {
  if (wanted === 'all') return record === undefined ? [] : record.leaves.map((node) => ({ record, node }));
  const given = new Set<StoredNode>();
  return wanted.flatMap((rev): Selected[] => {
    if (record === undefined) return [{ missing: rev }];
    const nodes = nodesOf(record, rev, latest);
    if (nodes.length === 0) return [{ missing: rev }];
    const fresh = latest ? nodes.filter((node) => !given.has(node)) : nodes;
    for (const node of fresh) given.add(node);
    return fresh.map((node) => ({ record, node }));
  });
}

/** The documents' texts in one pass over their bodies; undefined for what is missing or was compacted away. */
export async function readTexts(
  snapshot: Snapshot,
  selected: readonly Selected[],
  flags: MetaFlags | undefined,
): Promise<(string | undefined)[]> {
  const found = selected.filter((one) => one.record !== undefined);
  const bodies = await snapshot.bodies(found.map(({ node }) => node));
  let next = 0;
  return selected.map((one) => {
    if (one.record === undefined) return undefined;
    const body = bodies[next++];
    return body === undefined ? undefined : documentText(one.record, one.node, body, metaFor(one, flags));
  });
}

/** Whether the revision has attachments; known without its body. */
export function hasAttachments(one: Selected): boolean {
  return one.record !== undefined && one.node.body?.attachments !== undefined;
}

/** Undefined where the revision is missing, or its body was dropped. */
export async function renderSelected(
  snapshot: Snapshot,
  one: Selected,
  flags: MetaFlags | undefined,
): Promise<RenderedDocument | undefined> {
  if (one.record === undefined) return undefined;
  const { record, node } = one;
  const body = await snapshot.body(node);
  return body === undefined ? undefined : { record, node, body, members: metaFor(one, flags) };
}

function metaFor(
  { record, node }: { readonly record: DocumentRecord; readonly node: StoredNode },
  flags: MetaFlags | undefined,
): string | undefined {
  return flags === undefined ? undefined : metaOf(record, node, flags);
}

function nodesOf(record: DocumentRecord, rev: RevId, latest: boolean): readonly StoredNode[] {
  if (latest) return leavesFrom(record.leaves, toRevision(rev));
  const node = findNode(record.leaves, toRevision(rev));
  return node === undefined ? [] : [node];
}
