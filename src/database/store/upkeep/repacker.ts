import { compareCodePoints } from '../../../base/collation/code-points.ts';
import { type CooperativeTask, eachInSteps, runCooperatively, TimeSlice } from '../../../base/shared/turn.ts';
import type { TreeChange } from '../../../storage/btree/contract.ts';
import { collectEntries } from '../../../storage/btree/reading/reduction-walks.ts';
import type { PageNumber } from '../../../storage/page-store.ts';
import type { DocId } from '../../documents/contract.ts';
import { mapBodies } from '../../documents/revisions/revision-tree.ts';
import type { BodyLocation, DocumentRecord, StoredNode } from '../contract.ts';
import { digestsIn } from '../state/attachments-tree.ts';
import type { DatabaseState } from '../state/database-state.ts';
import type { DetachedPages } from '../state/detached-pages.ts';
import { decodeInTurns, encodeEntry, encodeEntryInSteps, MANY_LEAVES } from '../state/entry.ts';
import type { OpenedFile } from '../state/opened-file.ts';
import { type SpaceDelta, TreeUpdates, updateSpace } from '../state/tree-updates.ts';
import { decodeSpace, type PageSpace } from '../state/trees.ts';
import { AttachmentChanges } from '../writing/attachment-changes.ts';

/** Pages whose share of live bytes (in thousandths) is below this are worth moving. */
const WORTH_MOVING = 400;

/** Pages moved in one step, so that waiting writes are not held up. */
const PAGES_PER_STEP = 8;

interface Candidate extends PageSpace {
  readonly page: PageNumber;
}

/**
 * Empties body pages that hold little live data: bodies of leaf revisions move to the page that waits for the next
 * checkpoint, bodies of older revisions are discarded, and the checkpoint frees the page. Not journalled: after a crash the
 * old pages still exist, and so do the entries that point to them. Runs in the turns of the write queue only.
 */
export class Repacker {
  readonly #state: DatabaseState;
  readonly #detached: DetachedPages;
  /** Pages that can't be emptied. */
  readonly #damaged = new Set<PageNumber>();

  constructor({ state, detached }: Pick<OpenedFile, 'state' | 'detached'>) {
    this.#state = state;
    this.#detached = detached;
  }

  /** Moves a few of the worst pages; returns how many. */
  async repackWorst(): Promise<number> {
    const candidates = await this.#worst();
    await this.#repack(candidates);
    return candidates.length;
  }

  async #worst(): Promise<Candidate[]> {
    const { bodies, current } = this.#state;
    const limit = PAGES_PER_STEP + bodies.unstoredCount + this.#damaged.size;
    const entries = await collectEntries(current.space, { wanted: (use) => use.least < WORTH_MOVING, limit });
    const candidates = entries
      .map(({ key, value }) => ({ page: key, ...decodeSpace(value) }))
      .filter(({ page }) => !bodies.isUnstored(page) && !this.#damaged.has(page))
      .slice(0, PAGES_PER_STEP);
    // A small page without garbage is worth moving only if its bodies join others.
    const gathers = candidates.length > 1 || bodies.unstoredBytes > 0;
    return candidates.filter(({ total, live }) => gathers || live < total);
  }

  /** Moves every page of `pages` that holds garbage. For compaction, which passes a few at a time. */
  async repackPages(pages: readonly PageNumber[]): Promise<void> {
    const { bodies, current } = this.#state;
    const values = await current.space.getMany(pages);
    const candidates = pages.flatMap((page, index) => {
      const value = values[index];
      return value === undefined || bodies.isUnstored(page) ? [] : [{ page, ...decodeSpace(value) }];
    });
    await this.#repack(candidates);
  }

  async #repack(candidates: readonly Candidate[]): Promise<void> {
    const { bodies } = this.#state;
    const documents = await this.#documentsIn(candidates);
    const sound = this.#soundPages(candidates, documents);
    if (sound.length === 0) return;
    const mark = bodies.mark();
    try {
      await this.#empty(sound, documents);
    } catch (error) {
      // The moved bodies belong to nothing, since no entry points to them.
      bodies.rollback(mark);
      throw error;
    }
  }

  async #empty(sound: readonly Candidate[], documents: readonly DocumentRecord[]): Promise<void> {
    const { bodies, current } = this.#state;
    const emptied = new Set(sound.map(({ page }) => page));
    const deltas = new Map<number, SpaceDelta>();
    const attachments = new AttachmentChanges();
    if (current.attachments.count > 0)
      await attachments.load(current.attachments, await runCooperatively(digestsOf(documents)));
    const changes = await this.#moveBodies(documents, emptied, deltas, attachments);
    const updates = new TreeUpdates();
    const byId = await updates.apply(current.byId, changes);
    const grown = await runCooperatively(updateSpace(current.space, deltas, updates));
    const removals = [...emptied].sort((left, right) => left - right).map((key) => ({ key, value: undefined }));
    const space = await updates.apply(grown, removals);
    const attached = await updates.apply(current.attachments, await runCooperatively(attachments.changes()));
    const state = { ...current, version: current.version + 1, byId, space, attachments: attached };
    const pages = sound.flatMap(({ page, total }) => bodies.reader.pagesOf(page, total));
    const freed = attachments.freed().flatMap((gone) => this.#detached.remove(gone));
    this.#state.publish({ state, replaced: updates.replaced }, [...pages, ...freed]);
  }

  /** Returns the documents that the pages list, in the order of their ids. */
  async #documentsIn(candidates: readonly Candidate[]): Promise<DocumentRecord[]> {
    const { bodies, current } = this.#state;
    const listed = new Set<DocId>();
    bodies.reader.readPagesAhead(candidates);
    // `#soundPages` finds out whether a damaged listing is right.
    for (const { page, total } of candidates) {
      const listing = await bodies.reader.listing(page, total, true);
      // Entries that can't be found may point to it, including those that count as dead: entries of older revisions.
      if (listing.length === 0) this.#damaged.add(page);
      for (const id of listing) listed.add(id);
    }
    const ids = [...listed].sort(compareCodePoints);
    const values = await current.byId.getMany(ids);
    const timeSlice = new TimeSlice();
    const documents: DocumentRecord[] = [];
    for (const [index, id] of ids.entries()) {
      const value = values[index];
      const document = value === undefined ? undefined : decodeInTurns(id, value);
      if (document !== undefined) documents.push(document instanceof Promise ? await document : document);
      if (timeSlice.isDue) await timeSlice.rest();
    }
    return documents;
  }

  /**
   * Returns the pages whose listed documents account for every live byte. If they do not, the listing must be damaged: the page stays as it is,
   * so that no body is lost with it, and a verification reports it.
   */
  #soundPages(candidates: readonly Candidate[], documents: readonly DocumentRecord[]): Candidate[] {
    const live = new Map<PageNumber, number>();
    for (const { leaves } of documents) {
      for (const { body } of leaves)
        if (body !== undefined) live.set(body.page, (live.get(body.page) ?? 0) + body.length);
    }
    const sound = candidates.filter(({ page, live: expected }) => {
      return !this.#damaged.has(page) && (live.get(page) ?? 0) === expected;
    });
    for (const candidate of candidates) if (!sound.includes(candidate)) this.#damaged.add(candidate.page);
    return sound;
  }

  async #moveBodies(
    documents: readonly DocumentRecord[],
    emptied: ReadonlySet<PageNumber>,
    deltas: Map<number, SpaceDelta>,
    attachments: AttachmentChanges,
  ): Promise<TreeChange<string>[]> {
    const changes: TreeChange<string>[] = [];
    const timeSlice = new TimeSlice();
    for (const { id, seq, leaves } of documents) {
      if (timeSlice.isDue) await timeSlice.rest();
      const moved = await this.#moveLeaves(id, leaves, emptied, deltas);
      const gone: (readonly string[])[] = [];
      const next = mapBodies(leaves, (node) => {
        if (node.body === undefined || !emptied.has(node.body.page)) return node.body;
        const kept = moved.get(node);
        if (kept === undefined && node.body.attachments !== undefined) gone.push(node.body.attachments);
        return kept;
      });
      for (const digests of gone) await runCooperatively(attachments.remove(digests));
      if (next === leaves) continue;
      const value =
        next.length < MANY_LEAVES ? encodeEntry(seq, next) : await runCooperatively(encodeEntryInSteps(seq, next));
      changes.push({ key: id, value });
    }
    return changes;
  }

  async #moveLeaves(
    id: DocId,
    leaves: readonly StoredNode[],
    emptied: ReadonlySet<PageNumber>,
    deltas: Map<number, SpaceDelta>,
  ): Promise<Map<StoredNode, BodyLocation>> {
    const moved = new Map<StoredNode, BodyLocation>();
    const timeSlice = new TimeSlice();
    for (const leaf of leaves) {
      if (timeSlice.isDue) await timeSlice.rest();
      if (leaf.body === undefined || !emptied.has(leaf.body.page)) continue;
      const bytes = await this.#state.bodies.reader.readBytes(leaf.body);
      const { attachments } = leaf.body;
      const placed = this.#state.bodies.append(id, bytes);
      const location = attachments === undefined ? placed : { ...placed, attachments };
      moved.set(leaf, location);
      const delta = deltas.get(location.page) ?? { total: 0, live: 0 };
      deltas.set(location.page, { total: delta.total + location.length, live: delta.live + location.length });
    }
    return moved;
  }
}

/** Returns the digests to which revisions of the documents refer. */
function* digestsOf(documents: readonly DocumentRecord[]): CooperativeTask<Set<string>> {
  const digests = new Set<string>();
  for (const { seq, leaves } of documents) {
    yield* eachInSteps(digestsIn(yield* encodeEntryInSteps(seq, leaves)), (digest) => digests.add(digest));
    yield;
  }
  return digests;
}

/** Whether compaction gains by moving a page: it holds garbage, or is far from full. */
export function isWorthCompacting(value: string, fullPageBytes: number): boolean {
  const { total, live } = decodeSpace(value);
  return live < total || total < fullPageBytes / 2;
}
