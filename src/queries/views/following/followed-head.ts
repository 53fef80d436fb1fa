import { isDatabaseError } from '../../../base/errors/database-error.ts';
import type { NodeReader } from '../../../storage/btree/contract.ts';
import type { FollowedFile, FollowedState, PageStoreSupport } from '../../../storage/page-store.ts';
import { CheckedFile } from '../../../storage/paging/checked-file.ts';
import type { PageCache } from '../../../storage/paging/page-cache.ts';
import { readOnlyError } from '../../../storage/paging/page-errors.ts';
import { createNodeReader } from '../../../storage/paging/page-texts.ts';
import { ReadOnlyFile } from '../../../storage/paging/read-only-file.ts';
import { decodeIndexHead, decodeIndexRoots, type IndexHead } from '../storing/index-head.ts';
import { openIndexState } from '../storing/index-trees.ts';
import type { GroupDefinition } from '../trees/definition.ts';
import type { IndexState } from '../trees/index-state.ts';
import type { TreeOrder } from '../trees/tree-order.ts';

interface HeadOptions {
  readonly file: FollowedFile;
  /** Shared by all heads: pages never change. */
  readonly cache: PageCache;
  readonly definition: GroupDefinition;
  readonly orders: readonly TreeOrder[];
  readonly supports: PageStoreSupport;
  readonly collation: string;
}

/** What the owner has stored of an index. */
export interface FollowedHead {
  /** The head as it is stored. */
  readonly text: string;
  readonly head: IndexHead;
  /** The state that it leads to. */
  readonly stored: IndexState;
}

/** Opens a head. Returns undefined if there is none yet, or none of this index. Fails with `not_owner` if it can't be read. */
export async function openHead(options: HeadOptions, state: FollowedState): Promise<FollowedHead | undefined> {
  const { file, cache, definition, orders, supports, collation } = options;
  const text = state.point.head;
  const head = text === undefined ? undefined : decodeIndexHead(text, supports.crc32);
  if (text === undefined || head?.signature !== definition.signature || head.collation !== collation) return undefined;
  const pages = new ReadOnlyFile(file, state);
  const checked = new CheckedFile(pages, { crc32: supports.crc32, checkedFrom: head.checkedFrom });
  const reader = leavingToOwner(createNodeReader(checked), file.name);
  const roots = decodeIndexRoots(await reader.readNode(head.rootsPage, head.rootsPages ?? 1));
  const stored = openIndexState({ file: { reader, cache }, orders, leafBytes: supports.leafBytes }, head, roots);
  return { text, head, stored };
}

/** The owner finds out what is wrong with a page that can't be read, and repairs its index. */
function leavingToOwner(reader: NodeReader, file: string): NodeReader {
  const fail = (error: unknown): never => {
    throw toOwnersError(error, file);
  };
  return {
    ...reader,
    readNode: (page, pages) => {
      try {
        const read = reader.readNode(page, pages);
        return read instanceof Promise ? read.catch(fail) : read;
      } catch (error) {
        return fail(error);
      }
    },
  };
}

/** Returns `not_owner` for failures of the storage, and any other error as it is. */
export function toOwnersError(error: unknown, file: string): unknown {
  if (!isDatabaseError(error) || !error.code.startsWith('storage_')) return error;
  return Object.assign(readOnlyError(file), { cause: error });
}
