import { Tree } from '../../../storage/btree/tree.ts';
import type { PageFile } from '../../../storage/page-store.ts';
import type { PageCache } from '../../../storage/paging/page-cache.ts';
import { createNodeReader } from '../../../storage/paging/page-texts.ts';
import { treeSizes } from '../../../storage/paging/slices.ts';
import { type AttachmentSpace, attachmentsSpec } from './attachments-tree.ts';
import type { Head } from './head.ts';
import { byIdSpec, bySeqSpec, createSpaceSpec, type DocumentCounts, localsSpec, type SpaceUse } from './trees.ts';

/**
 * One moment of a database. Immutable: the write queue makes the next one and publishes it after its commit; snapshots
 * hold the one they began with.
 */
export interface State {
  /** Counts publications; later states have higher numbers. */
  readonly version: number;
  readonly byId: Tree<string, DocumentCounts>;
  readonly bySeq: Tree<number, number>;
  readonly locals: Tree<string, number>;
  readonly space: Tree<number, SpaceUse>;
  readonly attachments: Tree<string, AttachmentSpace>;
  readonly updateSeq: number;
  readonly purgeSeq: number;
  readonly docCount: number;
  readonly docDelCount: number;
}

interface TreeSettings {
  readonly file: PageFile;
  readonly cache: PageCache;
  readonly leafBytes: number;
}

/** Opens the trees as the head has them; empty ones for a new file. */
export function openState(head: Head, { file, cache, leafBytes }: TreeSettings): State {
  const shared = { reader: createNodeReader(file), cache, sizes: treeSizes(leafBytes) };
  return {
    version: 0,
    byId: Tree.open({ ...shared, spec: byIdSpec }, head.roots.byId),
    bySeq: Tree.open({ ...shared, spec: bySeqSpec }, head.roots.bySeq),
    locals: Tree.open({ ...shared, spec: localsSpec }, head.roots.locals),
    space: Tree.open({ ...shared, spec: createSpaceSpec(head.bodyPageBytes) }, head.roots.space),
    attachments: Tree.open({ ...shared, spec: attachmentsSpec }, head.roots.attachments ?? null),
    updateSeq: head.updateSeq,
    purgeSeq: head.purgeSeq,
    docCount: head.docCount,
    docDelCount: head.docDelCount,
  };
}

/** Returns the bytes of what the database holds: trees, and bodies and attachments of leaf revisions. */
export function liveBytes({ byId, bySeq, locals, space, attachments }: State): number {
  const trees = byId.bytes + bySeq.bytes + locals.bytes + space.bytes + attachments.bytes;
  return trees + (space.reduction()?.live ?? 0) + (attachments.reduction()?.live ?? 0);
}

/** Returns the bytes of tree nodes that are only in memory. */
export function unstoredBytes({ byId, bySeq, locals, space, attachments }: State): number {
  const documents = byId.unstoredBytes() + bySeq.unstoredBytes() + locals.unstoredBytes();
  return documents + space.unstoredBytes() + attachments.unstoredBytes();
}
