import type { CacheBudget } from '../../../base/shared/cache-budget.ts';
import type { PageFile, PageStoreSupport } from '../../../storage/page-store.ts';
import { CheckedFile } from '../../../storage/paging/checked-file.ts';
import { PageAllocator } from '../../../storage/paging/page-allocator.ts';
import { PageCache } from '../../../storage/paging/page-cache.ts';
import { BodyStore } from '../bodies/body-store.ts';
import { DatabaseState } from './database-state.ts';
import { DetachedPages } from './detached-pages.ts';
import { DISK_FORMAT_VERSION, type Head } from './head.ts';
import { StoredSettings } from './locals.ts';
import { openState } from './state.ts';
import { StoredHead } from './stored-head.ts';

/** A database's file, and what was read from it: shared by its reader, its writer and its upkeep. */
export interface OpenedFile {
  readonly file: PageFile;
  readonly cache: PageCache;
  readonly allocator: PageAllocator;
  readonly head: StoredHead;
  readonly state: DatabaseState;
  readonly settings: StoredSettings;
  readonly detached: DetachedPages;
}

interface OpenFileOptions {
  readonly file: PageFile;
  readonly head: Head;
  /** Shared with other files, or the number of bytes that this one has for itself. */
  readonly cache: CacheBudget | number | PageCache;
  /** Numbers new pages; by default those of the file's epoch. */
  readonly allocator?: PageAllocator | undefined;
  readonly supports: Pick<PageStoreSupport, 'leafBytes' | 'crc32'>;
}

/** Opens the file as its head describes it. The journal is not replayed yet, and no setting is loaded. */
export function openFile(options: OpenFileOptions): OpenedFile {
  const { file: unchecked, head, cache: given, supports } = options;
  const { leafBytes, crc32 } = supports;
  const { opening } = unchecked;
  const allocator = options.allocator ?? new PageAllocator(opening.epoch, head.pageMark);
  const upgraded = { ...head, format: DISK_FORMAT_VERSION, checkedFrom: Math.min(head.checkedFrom, allocator.next) };
  const file = new CheckedFile(unchecked, { crc32, checkedFrom: upgraded.checkedFrom });
  const cache = given instanceof PageCache ? given : new PageCache(given);
  const { bodyPageBytes, maxPageBytes } = head;
  const bodies = new BodyStore({ file, cache, allocator, crc32, pageBytes: bodyPageBytes, maxPageBytes });
  const current = openState(head, { file, cache, leafBytes });
  const state = new DatabaseState(current, bodies, opening.nextJournal);
  return {
    file,
    cache,
    allocator,
    head: new StoredHead(file, upgraded, { crc32, isUpgraded: head.format === DISK_FORMAT_VERSION }),
    state,
    settings: new StoredSettings(),
    detached: new DetachedPages((pages) => state.free(pages)),
  };
}
