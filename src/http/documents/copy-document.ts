/** `COPY /{db}/{docid}`, for ordinary and local documents in any combination (docs/http/documents.md#copying-a-document). */

import { runCooperatively } from '../../base/shared/turn.ts';
import { splitAttachments } from '../../database/documents/attachments/stored-attachments.ts';
import type { DocId, RevId } from '../../database/documents/contract.ts';
import { isLocalId } from '../../database/documents/identifiers.ts';
import { isLocalRev, parseRevId } from '../../database/documents/revisions/revisions.ts';
import type { Database, Snapshot } from '../../database/store/contract.ts';
import type { Answer, Context } from '../request/context.ts';
import { withSnapshot, withSnapshotLease } from '../request/snapshot-lease.ts';
import { COPIED, holdDocument } from '../shown/long-document.ts';
import { keptAttachment, noLocalAttachments } from './attached-writes.ts';
import { writeElsewhere } from './copy-elsewhere.ts';
import { parseDestination } from './destination.ts';
import { missing, nodeToRead } from './requested-revision.ts';
import { baseRevision, writeAndAnswer } from './write-document.ts';

export async function copyDocument(context: Context, database: string, id: DocId): Promise<Answer> {
  const sourceRev = baseRevision(context, id, undefined);
  const target = parseDestination(context);
  if (target.database !== undefined && target.database !== database) {
    const { database: other, id: copyId, rev } = target;
    const write = { database: other, id: copyId, rev };
    return withSnapshotLease(context, database, async (lease) => {
      const body = await shownSource(context, lease, id, sourceRev);
      return writeElsewhere(context, lease, body, write);
    });
  }
  const shown = await withSnapshot(context, database, (snapshot, open) =>
    shownSource(context, { snapshot, database: open }, id, sourceRev),
  );
  const rev = target.rev === undefined ? undefined : parseTargetRev(target.id, target.rev);
  const { attachments, body: own } = await runCooperatively(splitAttachments(shown));
  if (isLocalId(target.id) && attachments.length > 0) throw noLocalAttachments();
  const copies = attachments.map((one) => ({ ...keptAttachment(one), revpos: undefined }));
  return writeAndAnswer(
    context,
    database,
    { id: target.id, rev, deleted: false, body: own, attachments: copies },
    true,
  );
}

interface Source {
  readonly snapshot: Snapshot;
  readonly database: Database;
}

/** Returns what the user may see of the source. */
async function shownSource(
  context: Context,
  { snapshot, database }: Source,
  id: DocId,
  rev: RevId | undefined,
): Promise<string> {
  const body = isLocalId(id)
    ? await readLocalSource(context, database, id, rev)
    : await readSource(context, snapshot, id, rev);
  const shown = context.restriction === undefined ? body : context.restriction.show(id, body);
  if (shown === undefined) throw missing();
  return shown;
}

/** Reads tombstones, too, whose copy is live (docs/http/documents.md#copying-a-document). */
async function readSource(context: Context, snapshot: Snapshot, id: DocId, rev: RevId | undefined): Promise<string> {
  const node = nodeToRead(await snapshot.document(id), rev);
  await holdDocument(context, node?.body?.length ?? 0, COPIED);
  const body = node === undefined ? undefined : await snapshot.body(node);
  if (node === undefined || body === undefined) throw missing();
  return body;
}

async function readLocalSource(
  context: Context,
  database: Database,
  id: DocId,
  rev: RevId | undefined,
): Promise<string> {
  const local = await database.readLocal(id);
  if (local === undefined || (rev !== undefined && rev !== local.rev)) throw missing();
  await holdDocument(context, local.body.length, COPIED);
  return local.body;
}

function parseTargetRev(id: DocId, rev: string): RevId {
  return isLocalId(id) && isLocalRev(rev) ? rev : parseRevId(rev);
}
