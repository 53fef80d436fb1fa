import type { DocId } from '../documents/contract.ts';
import { toRevId } from '../documents/revisions.ts';
import type { PageNumber } from '../storage/page-store.ts';
import type { BodyLocation, StoredNode, VerifyReport } from './contract.ts';
import { decodeChange, decodeEntry } from './entry.ts';
import type { State } from './state.ts';
import { decodeSpace } from './trees.ts';
import type { DatabaseCore } from './writer.ts';

/** Findings beyond this many are counted, not listed. */
const MAX_FINDINGS = 1_000;

/** Documents whose bodies are read at once. */
const BATCH = 500;

/**
 * Walks one state of a database: the trees' own order, counts and reductions; that by-id and by-seq tell the same;
 * that every body is where its entry says, listed for its revision, and JSON; that the space tree's figures are true;
 * and that the file holds no page that nothing refers to.
 */
export async function verifyDatabase(
  core: DatabaseCore,
  garbage: () => Iterable<PageNumber>,
  onProgress: ((done: number, total: number) => void) | undefined,
): Promise<VerifyReport> {
  return new Verification(core, garbage, onProgress).run();
}

class Verification {
  readonly #core: DatabaseCore;
  readonly #state: State;
  readonly #garbage: () => Iterable<PageNumber>;
  readonly #onProgress: (done: number, total: number) => void;
  readonly #damage: string[] = [];
  readonly #used = new Map<PageNumber, { total: number; live: number }>();
  #documents = 0;
  #pages = 0;

  constructor(
    core: DatabaseCore,
    garbage: () => Iterable<PageNumber>,
    onProgress: ((done: number, total: number) => void) | undefined,
  ) {
    this.#core = core;
    this.#state = core.state;
    this.#garbage = garbage;
    this.#onProgress = onProgress ?? (() => undefined);
  }

  async run(): Promise<VerifyReport> {
    const { byId, bySeq, locals, space } = this.#state;
    for (const [name, tree] of Object.entries({ byId, bySeq, locals, space })) {
      for await (const finding of tree.check()) this.#note(`${name}: ${finding}`);
    }
    await this.#attempt('documents', () => this.#checkDocuments());
    await this.#attempt('changes', () => this.#checkChanges());
    await this.#attempt('space', () => this.#checkSpace());
    await this.#attempt('pages', () => this.#checkPages());
    return { documents: this.#documents, pages: this.#pages, damage: this.#damage };
  }

  #note(finding: string): void {
    if (this.#damage.length < MAX_FINDINGS) this.#damage.push(finding);
    else if (this.#damage.length === MAX_FINDINGS) this.#damage.push('There is more; the list ends here.');
  }

  async #attempt(what: string, check: () => Promise<void>): Promise<void> {
    try {
      await check();
    } catch (error) {
      this.#note(`${what}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  async #checkDocuments(): Promise<void> {
    let [live, deleted] = [0, 0];
    for await (const entries of this.#state.byId.entries({})) {
      for (const { key, value } of entries) {
        const { seq, leaves } = decodeEntry(key as DocId, value);
        const winner = leaves[0];
        if (winner === undefined) this.#note(`document ${key} has no revision`);
        if (winner?.deleted) deleted++;
        else live++;
        const change = await this.#state.bySeq.get(seq);
        if (change === undefined || decodeChange(seq, change).id !== key) {
          this.#note(`document ${key} is not in the order of changes at ${seq}`);
        }
        await this.#attempt(`document ${key}`, () => this.#checkBodies(key as DocId, leaves));
      }
      this.#documents += entries.length;
      this.#onProgress(this.#documents, this.#state.byId.count);
      if (this.#documents % BATCH < entries.length) await new Promise((resolve) => setTimeout(resolve, 0));
    }
    const { docCount, docDelCount } = this.#state;
    if (live !== docCount || deleted !== docDelCount) {
      this.#note(
        `the counts say ${docCount} live and ${docDelCount} deleted documents, there are ${live} and ${deleted}`,
      );
    }
  }

  async #checkBodies(id: DocId, leaves: readonly StoredNode[]): Promise<void> {
    const seen = new Set<StoredNode>();
    for (const leaf of leaves) {
      for (let node: StoredNode | undefined = leaf; node !== undefined && !seen.has(node); node = node.parent) {
        seen.add(node);
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
    const text = await this.#core.bodies.read(location);
    if (!isJsonObject(text)) this.#note(`revision ${toRevId(node.generation, node.hash)} of ${id} is not JSON`);
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

  /** Pages that nothing refers to. Not looked for while writes go on: a page in the making is no leak. */
  async #checkPages(): Promise<void> {
    const known = await this.#knownPages();
    const leaked: PageNumber[] = [];
    for await (const numbers of this.#core.file.pageNumbers(0)) {
      this.#pages += numbers.length;
      for (const page of numbers) if (!known.has(page)) leaked.push(page);
    }
    if (this.#core.state !== this.#state) return;
    for (const page of leaked) this.#note(`page ${page} belongs to nothing`);
  }

  async #knownPages(): Promise<Set<PageNumber>> {
    const known = new Set<PageNumber>(this.#garbage());
    const { byId, bySeq, locals, space } = this.#state;
    for (const tree of [byId, bySeq, locals, space]) {
      for await (const pages of tree.pages()) for (const page of pages) known.add(page);
    }
    for await (const entries of space.entries({})) {
      for (const { key, value } of entries) {
        for (const page of this.#core.bodies.pagesOf(key, decodeSpace(value).total)) known.add(page);
      }
    }
    return known;
  }
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
