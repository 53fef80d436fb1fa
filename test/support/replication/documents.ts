/** Documents of all kinds that a replication must carry. */
import type { Core } from '../../../src/core/core.ts';
import { must } from '../../unit/replication/support.ts';

/** More than travels inside a document. */
const LONG_BYTES = 100_000;

/** Documents, some of which are in conflict, deleted, or have attachments: `revisions` leaves in total. */
export interface Filling {
  readonly documents: number;
  readonly revisions: number;
}

export async function fill(core: Core, database: string, count: number, prefix = 'doc'): Promise<Filling> {
  const docs: object[] = [];
  for (let index = 0; index < count; index++) docs.push(...documentsOf(`${prefix}-${index}`, index));
  await must(core, `POST /${database}/_bulk_docs`, { new_edits: false, docs });
  return { documents: count, revisions: docs.length };
}

function documentsOf(_id: string, index: number): readonly object[] {
  const _rev = '2-b1';
  const _revisions = { start: 2, ids: ['b1', 'a1'] };
  const plain = { _id, _rev, _revisions, index, text: 'x'.repeat(500) };
  if (index % 10 === 3) {
    const other = { _id, _rev: '2-b2', _revisions: { start: 2, ids: ['b2', 'a1'] }, index, isOther: true };
    return [plain, other];
  }
  if (index % 10 === 5) return [{ _id, _rev, _revisions, _deleted: true }];
  if (index % 10 === 7) return [{ ...plain, _attachments: { 'note.txt': attachmentOf(`note ${index}`) } }];
  if (index % 50 === 9) {
    const long = attachmentOf(`${index} `.repeat(LONG_BYTES).slice(0, LONG_BYTES));
    return [{ ...plain, _attachments: { 'a long one': long, 'note.txt': attachmentOf('short') } }];
  }
  return [plain];
}

function attachmentOf(text: string) {
  return { content_type: 'application/octet-stream', data: Buffer.from(text).toString('base64'), revpos: 2 };
}
