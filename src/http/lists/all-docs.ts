/** `_all_docs` by GET, and by POST with keys (completion 8, 9). Several lists at once: see `other-lists.ts`. */
import type { Answer, Context } from '../request/context.ts';
import { DocumentListing } from './document-listing.ts';
import { getList, type ListKind, postList } from './document-lists.ts';

export const allDocs: ListKind = {
  open: ({ snapshot }, options) => new DocumentListing(snapshot, options),
  follows: true,
};

export function getAllDocs(context: Context, database: string): Promise<Answer> {
  return getList(context, database, allDocs);
}

export function postAllDocs(context: Context, database: string): Promise<Answer> {
  return postList(context, database, allDocs);
}
