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

/** Bytes of what a database holds. */
export interface HeldBytes {
  /** Trees, and bodies and attachments of leaf revisions. */
  readonly live: number;
  /** Those bodies and attachments alone. */
  readonly content: number;
  /** Bodies and attachments of replaced revisions, which are not removed yet. */
  readonly old: number;
  /** The share of the trees that entries of deleted documents take, by their number. Most have no body. */
  readonly deleted: number;
}

export function heldBytes(state: State): HeldBytes {
  const { byId, bySeq, locals, space, attachments, docCount, docDelCount } = state;
  const [bodies, files] = [space.reduction(), attachments.reduction()];
  const content = (bodies?.live ?? 0) + (files?.live ?? 0);
  const entries = byId.bytes + bySeq.bytes;
  return {
    live: entries + locals.bytes + space.bytes + attachments.bytes + content,
    content,
    old: (bodies?.total ?? 0) + (files?.bytes ?? 0) - content,
    deleted: Math.round((entries * docDelCount) / Math.max(1, docCount + docDelCount)),
  };
}

export function liveBytes(state: State): number {
  return heldBytes(state).live;
}

/** Returns the bytes of tree nodes that are only in memory. */
export function unstoredBytes({ byId, bySeq, locals, space, attachments }: State): number {
  const documents = byId.unstoredBytes() + bySeq.unstoredBytes() + locals.unstoredBytes();
  return documents + space.unstoredBytes() + attachments.unstoredBytes();
}
