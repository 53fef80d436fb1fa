import { isDatabaseError } from '../../../base/errors/database-error.ts';
import { isObject } from '../../../base/json/objects.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { nextTurn } from '../../../base/shared/turn.ts';
import type { TreeEntry } from '../../../storage/btree/contract.ts';
import { checkTree } from '../../../storage/btree/reading/tree-check.ts';
import { readableEntries, treePages } from '../../../storage/btree/reading/tree-walks.ts';
import type { Tree } from '../../../storage/btree/tree.ts';
import type { PageFile, PageNumber, PageStoreSupport } from '../../../storage/page-store.ts';
import { PageCache } from '../../../storage/paging/page-cache.ts';
import type { DocId } from '../../documents/contract.ts';
import { toRevId } from '../../documents/revisions/revisions.ts';
import { decodeText } from '../bodies/body-page.ts';
import { BodyReader } from '../bodies/body-reader.ts';
import type { BodyLocation, StoredNode, VerifyReport } from '../contract.ts';
import { decodeAttachment } from '../state/attachments-tree.ts';
import { decodeChange, decodeInTurns, encodeChange } from '../state/entry.ts';
import type { Head } from '../state/head.ts';
import { openState, type State } from '../state/state.ts';
import { decodeSpace } from '../state/trees.ts';
import { AttachmentCheck } from './attachment-check.ts';

/** Findings beyond this many are counted, not listed. */
const MAX_FINDINGS = 1_000;

/** Documents whose bodies are read at a time. */
const BATCH = 500;

/** Body pages whose listings are remembered. */
const MAX_LISTINGS = 100;

/** Maximum bytes that are kept of the pages that were read. */
const CACHE_BYTES = 4 * 2 ** 20;

/** Stands for a value whose node can't be read. */
const UNREADABLE = Symbol('unreadable');

interface VerifyOptions {
  readonly file: PageFile;
  /** Leads to a state that is stored completely, and stays so. */
  readonly head: Head;
  readonly supports: PageStoreSupport;
  /** Pages that are still in the file although they are no longer part of it. */
  freePages(): Iterable<PageNumber>;
  /** Whether nothing was written since. */
  isUnchanged(): Promise<boolean>;
  onProgress(done: number, total: number): void;
}

/**
 * Walks the state that a head leads to, as it is on the medium. Checks the trees' own order, counts and reductions; that by-id and
 * by-seq agree; that every body is where its entry says, listed for its document, and JSON; that the space tree's figures
 * are correct; that attachments match their digests and reference counts; and that every page of the file is referred to.
 */
export function verifyHead(options: VerifyOptions): Promise<VerifyReport> {
  return new Verification(options).run();
}

class Verification {
  readonly #options: VerifyOptions;
  readonly #file: PageFile;
  readonly #state: State;
  readonly #bodies: BodyReader;
  readonly #damage: string[] = [];
  readonly #lost: VerifyReport['lost'][number][] = [];
  /** Body pages whose listings can't be read, each noted once. */
  readonly #unlisted = new Set<PageNumber>();
  readonly #used = new Map<PageNumber, { total: number; live: number }>();
  /** By page, kept for reuse: bodies that are neighbours share a page's listing. */
  readonly #listings = new Map<PageNumber, ReadonlySet<DocId>>();
  readonly #attachments: AttachmentCheck;
  #lacksDocuments = false;
  #documents = 0;
  #pages = 0;

  /** Reads from the medium, not from the database's cache. */
  constructor(options: VerifyOptions) {
    const { file, head, supports } = options;
    const { leafBytes, crc32 } = supports;
    const cache = new PageCache(CACHE_BYTES);
    this.#options = options;
    this.#file = file;
    this.#state = openState(head, { file, cache, leafBytes });
    this.#attachments = new AttachmentCheck(file, (finding) => this.#note(finding));
    const { bodyPageBytes, maxPageBytes } = head;
    this.#bodies = new BodyReader({ file, cache, crc32, pageBytes: bodyPageBytes, maxPageBytes });
  }

  async run(): Promise<VerifyReport> {
    const { byId, bySeq, locals, space, attachments } = this.#state;
    await this.#checkTree('byId', byId);
    await this.#checkTree('bySeq', bySeq);
    await this.#checkTree('locals', locals);
    await this.#checkTree('space', space);
    await this.#checkTree('attachments', attachments);
    await this.#attempt('documents', () => this.#checkDocuments());
    await this.#attempt('changes', () => this.#checkChanges());
    // If documents are missing, what belongs to them would be reported as lost.
    if (!this.#lacksDocuments) {
      await this.#attempt('space', () => this.#checkSpace());
      await this.#attempt('attachments', () => this.#checkAttachments());
      await this.#attempt('pages', () => this.#checkPages());
    }
    return { documents: this.#documents, pages: this.#pages, damage: this.#damage, lost: this.#lost };
  }

  async #checkTree<K, R>(name: string, tree: Tree<K, R>): Promise<void> {
    for await (const finding of checkTree(tree)) this.#note(`${name}: ${finding}`);
  }

  #note(finding: string): void {
    if (this.#damage.length < MAX_FINDINGS) this.#damage.push(finding);
    else if (this.#damage.length === MAX_FINDINGS) this.#damage.push('There is more; the list ends here.');
  }

  async #attempt(what: string, check: () => Promise<void>): Promise<void> {
    try {
      await check();
    } catch (error) {
      this.#note(`${what}: ${messageOf(error)}`);
    }
  }

  async #checkDocuments(): Promise<void> {
    let [live, deleted] = [0, 0];
    const { byId } = this.#state;
    // The failures themselves were noted when the tree was checked.
    const onFailure = () => {
      this.#lacksDocuments = true;
    };
    for await (const entries of readableEntries(byId, onFailure)) {
      if (this.#bodies.waitsForReads) await this.#readAhead(entries);
      for (const { key, value } of entries) {
        const id = key as DocId;
        await this.#attempt(`document ${id}`, async () => {
          const { seq, leaves } = await decodeInTurns(id, value);
          if (leaves[0]?.deleted) deleted++;
          else live++;
          await this.#checkDocument(id, seq, leaves);
        });
      }
      this.#documents += entries.length;
      this.#options.onProgress(this.#documents, byId.count);
      if (this.#documents % BATCH < entries.length) await nextTurn();
    }
    if (this.#lacksDocuments) return this.#noteLostDocuments();
    const { docCount, docDelCount } = this.#state;
    if (live !== docCount || deleted !== docDelCount) {
      this.#note(
        `the counts say ${docCount} live and ${docDelCount} deleted documents, there are ${live} and ${deleted}`,
      );
    }
  }

  /** Reads together what the check of each document then finds in memory. What can't be read is noted there. */
  async #readAhead(entries: readonly TreeEntry<string>[]): Promise<void> {
    const seqs = new Set<number>();
    const totals = new Map<PageNumber, number>();
    try {
      for (const { key, value } of entries) {
        const { seq, leaves } = await decodeInTurns(key as DocId, value);
        seqs.add(seq);
        for (const { body } of leaves) if (body !== undefined) totals.set(body.page, body.length);
      }
      this.#bodies.readPagesAhead([...totals].map(([page, total]) => ({ page, total })));
      await this.#state.bySeq.getMany([...seqs].sort((left, right) => left - right));
    } catch (error) {
      if (!isDatabaseError(error)) throw error;
    }
  }

  /** Notes the documents whose entries can't be read, with what the by-seq tree knows of them. */
  async #noteLostDocuments(): Promise<void> {
    for await (const entries of readableEntries(this.#state.bySeq, () => undefined)) {
      for (const { key: seq, value } of entries) {
        const { id, revs } = decodeChange(seq, value);
        const found = await this.#readable(() => this.#state.byId.get(id));
        if (found !== UNREADABLE) continue;
        this.#note(`document ${id} is lost, with the revisions ${revs.join(', ')}`);
      }
    }
  }

  /** Returns a value of a tree, or `UNREADABLE` if a node on the way to it is damaged: that was noted when the tree was checked. */
  async #readable(read: () => MaybePromise<string | undefined>): Promise<string | undefined | typeof UNREADABLE> {
    try {
      return await read();
    } catch (error) {
      if (isDatabaseError(error, 'storage_corrupt')) return UNREADABLE;
      throw error;
    }
  }

  async #checkDocument(id: DocId, seq: number, leaves: readonly StoredNode[]): Promise<void> {
    if (leaves.length === 0) this.#note(`document ${id} has no revision`);
    await this.#checkChange(id, seq, leaves);
    await this.#checkBodies(id, leaves);
  }

  async #checkChange(id: DocId, seq: number, leaves: readonly StoredNode[]): Promise<void> {
    const change = await this.#readable(() => this.#state.bySeq.get(seq));
    if (change === UNREADABLE) return;
    if (change === undefined) this.#note(`document ${id} is not in the order of changes at ${seq}`);
    else if (change !== encodeChange(id, leaves)) {
      this.#note(`document ${id} is not what the order of changes has at ${seq}: ${change}`);
    }
  }

  async #checkBodies(id: DocId, leaves: readonly StoredNode[]): Promise<void> {
    const seen = new Set<StoredNode>();
    for (const leaf of leaves) {
      for (let node: StoredNode | undefined = leaf; node !== undefined && !seen.has(node); node = node.parent) {
        seen.add(node);
        this.#attachments.note(node, node === leaf);
        if (node.body === undefined || node.body.page === 0) continue;
        await this.#checkBody(id, node, node.body, node === leaf);
      }
    }
  }

  async #checkBody(id: DocId, node: StoredNode, location: BodyLocation, isLeaf: boolean): Promise<void> {
    const use = this.#used.get(location.page) ?? { total: 0, live: 0 };
    use.total = Math.max(use.total, location.offset + location.length);
    if (isLeaf) use.live += location.length;
    this.#used.set(location.page, use);
    const name = `revision ${toRevId(node.generation, node.hash)} of ${id}`;
    try {
      const bytes = await this.#bodies.readBytes(location);
      if (!this.#hasChecksum(bytes, location)) this.#note(`${name} is lost: its checksum is wrong`);
      if (!isJsonObject(decodeText(bytes))) this.#note(`${name} is not JSON`);
    } catch (error) {
      this.#note(`${name} is lost: ${messageOf(error)}`);
      if (isLeaf) this.#lost.push({ id, rev: toRevId(node.generation, node.hash) });
    }
    if (!this.#unlisted.has(location.page)) await this.#checkListing(id, name, location);
  }

  async #checkListing(id: DocId, name: string, location: BodyLocation): Promise<void> {
    const { page } = location;
    try {
      const listing = this.#listings.get(page) ?? (await this.#readListing(location));
      if (this.#bodies.isListed(id) && !listing.has(id)) this.#note(`${name} is not listed in its body page ${page}`);
    } catch (error) {
      this.#unlisted.add(page);
      this.#note(
        `the list of documents in body page ${page} can't be read, but its documents can: ${messageOf(error)}`,
      );
    }
  }

  #hasChecksum(bytes: Uint8Array, { checksum }: BodyLocation): boolean {
    return checksum === undefined || this.#options.supports.crc32(bytes) === checksum;
  }

  async #readListing({ page, length }: BodyLocation): Promise<ReadonlySet<DocId>> {
    const listing = new Set(await this.#bodies.listing(page, length));
    if (this.#listings.size >= MAX_LISTINGS) this.#listings.clear();
    this.#listings.set(page, listing);
    return listing;
  }

  async #checkChanges(): Promise<void> {
    if (this.#state.bySeq.count !== this.#state.byId.count) {
      this.#note(`${this.#state.byId.count} documents, but ${this.#state.bySeq.count} places in the order of changes`);
    }
  }

  async #checkSpace(): Promise<void> {
    const listed = new Set<PageNumber>();
    for await (const entries of this.#state.space.entries({})) {
      for (const { key: page, value } of entries) {
        listed.add(page);
        const { total, live } = decodeSpace(value);
        const use = this.#used.get(page) ?? { total: 0, live: 0 };
        if (use.live !== live || use.total > total) {
          this.#note(`body page ${page} should hold ${live} live bytes of ${total}, and holds ${use.live}`);
        }
      }
    }
    for (const page of this.#used.keys()) if (!listed.has(page)) this.#note(`body page ${page} is not accounted for`);
  }

  async #checkAttachments(): Promise<void> {
    for await (const entries of this.#state.attachments.entries({})) {
      for (const { key, value } of entries) await this.#attachments.check(decodeAttachment(key, value));
    }
    this.#attachments.end();
  }

  /** Notes pages that nothing refers to. Not reported while writes go on: a page that is being written is no leak. */
  async #checkPages(): Promise<void> {
    const known = await this.#knownPages();
    const leaked: PageNumber[] = [];
    for await (const numbers of this.#file.pageNumbers(0)) {
      this.#pages += numbers.length;
      for (const page of numbers) if (!known.has(page)) leaked.push(page);
    }
    if (leaked.length === 0 || !(await this.#options.isUnchanged())) return;
    for (const page of leaked) this.#note(`page ${page} belongs to nothing`);
  }

  async #knownPages(): Promise<Set<PageNumber>> {
    const known = new Set<PageNumber>(this.#options.freePages());
    const { byId, bySeq, locals, space, attachments } = this.#state;
    const trees = [treePages(byId), treePages(bySeq), treePages(locals), treePages(space), treePages(attachments)];
    for (const batches of trees) {
      for await (const pages of batches) for (const page of pages) known.add(page);
    }
    for await (const entries of space.entries({})) {
      for (const { key, value } of entries) {
        for (const page of this.#bodies.pagesOf(key, decodeSpace(value).total)) known.add(page);
      }
    }
    for (const page of this.#attachments.pages) known.add(page);
    return known;
  }
}

function messageOf(error: unknown): string {
  return isDatabaseError(error) ? error.reason : String(error);
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}
