import { must } from '../../../base/shared/assert.ts';
import { sortInSteps } from '../../../base/shared/sort-in-steps.ts';
import { type CooperativeTask, eachInSteps, runCooperatively } from '../../../base/shared/turn.ts';
import type { TreeChange } from '../../../storage/btree/contract.ts';
import type { PageNumber } from '../../../storage/page-store.ts';
import type { AttachmentBytes, FinishedUpload, StoredBytes, StoredNode } from '../contract.ts';
import {
  type AttachmentEntry,
  bytesOfLength,
  decodeAttachment,
  encodeAttachment,
  pagesOfRuns,
} from '../state/attachments-tree.ts';
import type { State } from '../state/state.ts';

interface WorkingAttachment {
  /** The tree's entry; undefined if it has none. */
  readonly former: AttachmentEntry | undefined;
  /** Undefined until an upload brings the bytes. */
  stored: StoredBytes | undefined;
  /** Whether an upload described the decoded form of bytes that were known as content only. */
  isFoundEncoded: boolean;
  references: number;
  leaves: number;
}

/** Revisions that are examined between two checks of the clock. */
const NODES_PER_STEP = 1_024;

/** What a group of changes does to the tree of attachments: which bytes are added, and how many revisions refer to which. */
export class AttachmentChanges {
  readonly #working = new Map<string, WorkingAttachment>();
  readonly #adopted = new Map<string, FinishedUpload>();

  /** Loads what is known of these digests. */
  async load(tree: State['attachments'], digests: Iterable<string>): Promise<void> {
    const sorted = await runCooperatively(sortInSteps([...new Set(digests)], compareKeys));
    const values = tree.count === 0 || sorted.length === 0 ? [] : await tree.getMany(sorted);
    const take = (digest: string, index: number) => {
      const value = values[index];
      const former = value === undefined ? undefined : decodeAttachment(digest, value);
      const { references = 0, leaves = 0 } = former ?? {};
      this.#working.set(digest, { former, stored: former, isFoundEncoded: false, references, leaves });
    };
    await runCooperatively(eachInSteps(sorted, take));
  }

  /** Whether the group has nothing to do with attachments. */
  get isEmpty(): boolean {
    return this.#working.size === 0;
  }

  /** Returns the attachment's bytes; undefined if there are none. */
  stored({ digest, length }: AttachmentBytes): StoredBytes | undefined {
    const stored = this.#working.get(digest)?.stored;
    return stored && bytesOfLength(stored, length);
  }

  /** Takes the upload's bytes if they are new; returns whether it does. Notes their decoded form in any case. */
  adopt(upload: FinishedUpload): boolean {
    const { digest, encoding, length, plainDigest } = upload.stored;
    const working = must(this.#working.get(digest), 'an attachment of the group was not loaded');
    if (working.stored === undefined) {
      working.stored = upload.stored;
      this.#adopted.set(digest, upload);
      return true;
    }
    if (encoding !== undefined && working.stored.encoding === undefined) {
      working.stored = { ...working.stored, encoding, length, plainDigest };
      working.isFoundEncoded = true;
    }
    return false;
  }

  /** Adds `step` for each revision of the tree whose body is kept. */
  *count(leaves: readonly StoredNode[], step: 1 | -1): CooperativeTask<void> {
    const seen = new Set<StoredNode>();
    for (const leaf of leaves) {
      for (let node: StoredNode | undefined = leaf; node !== undefined && !seen.has(node); node = node.parent) {
        seen.add(node);
        const digests = node.body?.attachments;
        if (digests !== undefined) yield* this.#add(digests, step, node === leaf ? step : 0);
        if (seen.size % NODES_PER_STEP === 0) yield;
      }
    }
  }

  /** Notes that a revision that is not a leaf is no longer kept. */
  *remove(digests: readonly string[]): CooperativeTask<void> {
    yield* this.#add(digests, -1, 0);
  }

  #add(digests: readonly string[], references: number, leaves: number): CooperativeTask<void> {
    return eachInSteps(digests, (digest) => {
      const working = must(this.#working.get(digest), 'an attachment of the group was not loaded');
      working.references += references;
      working.leaves += leaves;
    });
  }

  /** The uploads whose bytes the group keeps. */
  *adopted(): CooperativeTask<readonly FinishedUpload[]> {
    const kept: FinishedUpload[] = [];
    yield* eachInSteps(this.#adopted, ([digest, upload]) => {
      if ((this.#working.get(digest)?.references ?? 0) > 0) kept.push(upload);
    });
    return kept;
  }

  /**
   * The pages of uploads that the group took and let go again, when a replay joins the record that added them with that of a purge. No state will
   * refer to them, and outside a replay they are still the uploader's. Call it after the group's documents have been counted (`nextState`).
   */
  get orphanedPages(): readonly PageNumber[] {
    return [...this.#adopted].flatMap(([digest, { pages }]) =>
      (this.#working.get(digest)?.references ?? 0) > 0 ? [] : pages,
    );
  }

  /** The bytes that a journal record must contain: the adopted ones, and, without pages, existing ones that were found to be gzip. */
  *recorded(): CooperativeTask<readonly StoredBytes[]> {
    const recorded: StoredBytes[] = [];
    yield* eachInSteps(this.#working, ([digest, { stored, isFoundEncoded, references }]) => {
      if (stored === undefined || references <= 0) return;
      if (this.#adopted.has(digest)) recorded.push(stored);
      else if (isFoundEncoded) recorded.push({ ...stored, pages: [] });
    });
    return recorded;
  }

  /** The changes of the tree, in the order of digests. */
  *changes(): CooperativeTask<TreeChange<string>[]> {
    const changes: TreeChange<string>[] = [];
    yield* eachInSteps(this.#working, ([digest, { former, stored, isFoundEncoded, references, leaves }]) => {
      const isCounted = former?.references === references && former.leaves === leaves;
      if (stored === undefined || (isCounted && !isFoundEncoded)) return;
      if (former === undefined && references === 0) return;
      const value = references > 0 ? encodeAttachment({ ...stored, references, leaves }) : undefined;
      changes.push({ key: digest, value });
    });
    return yield* sortInSteps(changes, (left, right) => compareKeys(left.key, right.key));
  }

  /** Returns the pages of each attachment that nothing refers to any longer. */
  freed(): (readonly PageNumber[])[] {
    return [...this.#working.values()].flatMap(({ former, references }) =>
      former !== undefined && references <= 0 ? [pagesOfRuns(former.pages)] : [],
    );
  }
}

function compareKeys(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
