/** Writes to the documents of `_replicator`: another request in place of the former one, the same once more, an end. */
import { goTo } from '../page/router.ts';
import { review } from '../review/review.tsx';
import { ask, type JsonObject, pathOf, type ServerRequest, withQuery } from '../server/client.ts';
import { readReplicationDocument } from '../server/replication.ts';
import { textOf } from '../server/replications.ts';
import { hasSecrets, maskSecrets, titleOf } from './secrets.ts';

interface Rewrite {
  readonly docId: string;
  /** As it is stored. */
  readonly found: JsonObject;
  /** What it asks for then. */
  readonly members: JsonObject;
}

/** The members except `_id`, `_rev` and those that the server writes. */
export function membersToEdit(found: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(found).filter(([name]) => !name.startsWith('_')));
}

export function reviewRewrite({ docId, found, members }: Rewrite): void {
  const isRunning = found._replication_state === 'triggered';
  const title = titleOf(found) ?? docId;
  const isSame = JSON.stringify(members) === JSON.stringify(membersToEdit(found));
  review({
    title: isSame ? `Start ${title} again` : `Change ${title}`,
    effects: [
      isSame
        ? 'The document is stored again without its state: the replication starts again, from its checkpoint.'
        : 'The former replication ends, and what the document asks for now begins. It continues from its checkpoint if it copies the same.',
      ...(isRunning
        ? [
            'A running replication can’t be changed: its document is deleted and written again. If the new one is refused, the page writes the former one again.',
          ]
        : []),
    ],
    changes: isSame ? [] : [{ name: docId, before: pretty(membersToEdit(found)), after: pretty(members) }],
    requests: [
      ...(isRunning ? [deletion(docId, found)] : []),
      {
        method: 'PUT',
        path: pathOf('_replicator', docId),
        json: JSON.stringify({ ...(isRunning ? {} : { _rev: found._rev }), ...maskSecrets(members) }),
      },
    ],
    action: isSame ? 'Start again' : 'Store',
    apply: async () => {
      await rewrite({ docId, found, members });
      goTo(['replication', docId]);
    },
  });
}

/** Since the state may have changed while the user looked at the review, the document is read again. */
async function rewrite({ docId, found, members }: Rewrite): Promise<void> {
  const latest = await readReplicationDocument(docId);
  if (latest !== undefined && JSON.stringify(membersToEdit(latest)) !== JSON.stringify(membersToEdit(found))) {
    throw new Error('Somebody else has changed the document since you opened it. Copy your text, and open it again.');
  }
  if (latest === undefined || latest._replication_state !== 'triggered') return store(docId, latest?._rev, members);
  await send(deletion(docId, latest));
  try {
    await store(docId, undefined, members);
  } catch (failure) {
    await store(docId, undefined, membersToEdit(latest));
    throw failure;
  }
}

async function store(docId: string, rev: JsonObject[string], members: JsonObject): Promise<void> {
  const json = { ...(rev !== undefined && { _rev: rev }), ...members };
  await ask('PUT', pathOf('_replicator', docId), { json, quiet: hasSecrets(members) });
}

function send({ method, path }: ServerRequest): Promise<JsonObject> {
  return ask(method, path);
}

function deletion(docId: string, found: JsonObject): ServerRequest {
  return { method: 'DELETE', path: withQuery(pathOf('_replicator', docId), { rev: textOf(found._rev) }) };
}

/** Shows what ends, and deletes the document. */
export function reviewDeletion(docId: string, found: JsonObject): void {
  review({
    title: `Delete the replication ${titleOf(found) ?? docId}`,
    effects: [`The document ${docId} is deleted, and its replication ends. What was copied stays at the target.`],
    changes: [{ name: docId, before: pretty(maskSecrets(membersToEdit(found))), after: undefined }],
    requests: [deletion(docId, found)],
    action: 'Delete',
    apply: async () => {
      // The server writes its state into the document, so the revision may be another by now.
      const latest = await readReplicationDocument(docId);
      if (latest !== undefined) await send(deletion(docId, latest));
      goTo(['replication']);
    },
  });
}

/** Shows what ends, and cancels the replication of a request. */
export function reviewCancel(replicationId: string): void {
  const json = { cancel: true, replication_id: replicationId };
  review({
    title: 'Cancel the replication',
    effects: ['It ends. What was copied stays at the target. The same request continues from its checkpoint.'],
    requests: [{ method: 'POST', path: '_replicate', json: JSON.stringify(json) }],
    action: 'Cancel the replication',
    apply: async () => {
      await ask('POST', '_replicate', { json });
      goTo(['replication']);
    },
  });
}

function pretty(members: JsonObject): string {
  return JSON.stringify(members, null, 2);
}
