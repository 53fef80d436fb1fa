/** Reads of system databases by users who are not admins of them (docs/http/accounts.md#reading-users). */

import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { DocId } from '../../../database/documents/contract.ts';
import { isDesignId } from '../../../database/documents/identifiers.ts';
import { getDocument } from '../../documents/read-document.ts';
import { missing, nodeToRead } from '../../documents/revision-selection.ts';
import type { Answer, Context } from '../../request/context.ts';
import { withSnapshot } from '../../request/snapshot-lease.ts';
import { hasTag, jsonAnswer, revisionTag, withHeader } from '../../response/responses.ts';
import { documentText, metaOf, readMetaFlags, revOf } from '../../shown/document-rendering.ts';

/** Reads a revision as usual if the reader may see all of it; otherwise shows only what may be seen of it, and nothing of its history. */
export async function getProtectedDocument(context: Context, database: string, id: DocId): Promise<Answer> {
  const { restriction } = context;
  if (restriction === undefined) return getDocument(context, database, id);
  if (isDesignId(id) && restriction.hides(id)) {
    throw new DatabaseError('forbidden', 'Only administrators can view design docs in the users database.');
  }
  if (restriction.hides(id)) throw missing();
  return withSnapshot(context, database, async (snapshot) => {
    const record = await snapshot.document(id);
    const node = nodeToRead(record, context.query.get('rev'), context.query.flag('latest'));
    const body = node === undefined ? undefined : await snapshot.body(node);
    const shown = body === undefined ? undefined : restriction.show(id, body);
    if (record === undefined || node === undefined || shown === undefined) throw missing();
    const flags = shown === body ? readMetaFlags(context.query) : undefined;
    const members = flags === undefined ? '' : metaOf(record, node, flags);
    const answer = jsonAnswer(context, 200, documentText(record, node, shown, members));
    const rev = revOf(node);
    return shown === body && members === '' && hasTag(rev) ? withHeader(answer, 'etag', revisionTag(rev)) : answer;
  });
}
