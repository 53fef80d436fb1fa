/** Stores the resolution of a conflict: what was chosen replaces the winner, and the other revisions are deleted. */
import { formatMany } from '../../components/format.ts';
import type { JsonTree } from '../../json/json-tree.ts';
import { printCompact, printPretty } from '../../json/print-json.ts';
import { review } from '../../review/review.tsx';
import { exchange, open, parseResponse, pathOf, type ServerRequest } from '../../server/client.ts';
import { attachmentPath, membersWithout } from '../../server/document.ts';
import { type Leaf, readLeaves } from '../../server/leaves.ts';
import { stored } from '../../staging/staging-bar.tsx';

/** An attachment of a revision that is deleted. */
export interface KeptAttachment {
  readonly rev: string;
  readonly name: string;
}

interface Resolution {
  readonly database: string;
  readonly id: string;
  /** The winner first. */
  readonly leaves: readonly Leaf[];
  readonly result: JsonTree;
  readonly kept: readonly KeptAttachment[];
}

/** Shows what will happen. Fails if an attachment that is to be kept can't be read. */
export async function reviewResolution(resolution: Resolution): Promise<void> {
  const { id, leaves, result, kept } = resolution;
  const [winner, ...others] = leaves;
  if (winner === undefined) return;
  const files = await Promise.all(kept.map((one) => readAttachment(resolution, one)));
  const isChanged = printCompact(result) !== printCompact(winner.tree);
  const requests = requestsOf(resolution, winner, files, isChanged);
  review({
    title: `Resolve the conflict of ${id}`,
    effects: effectsOf(others.length, files.length, isChanged),
    changes: [
      ...(isChanged
        ? [{ name: `The winner ${winner.rev}`, before: printPretty(winner.tree), after: printPretty(result) }]
        : []),
      ...others.map(({ rev, tree }) => ({ name: rev, before: printPretty(tree), after: undefined })),
    ],
    requests: [...requests.first, ...requests.files.map((request) => request(winner.rev)), requests.last],
    action: 'Resolve',
    apply: async () => {
      try {
        await failIfChanged(resolution);
        await run(requests, winner.rev);
      } finally {
        stored.dispatchEvent(new Event('stored'));
      }
    },
  });
}

function effectsOf(others: number, files: number, isChanged: boolean): readonly string[] {
  const isFirst = isChanged || files > 0;
  return [
    isChanged ? 'The result becomes the next revision of the winner.' : 'The winner stays as it is.',
    ...(files > 0 ? [`${formatMany(files, 'attachment is', 'attachments are')} stored with it.`] : []),
    `${isFirst ? 'Only when that is done, ' : ''}${formatMany(others, 'other revision is', 'other revisions are')} deleted, each by its own revision, in one request. That replicates to peers. Their content may be dropped at any time from then on, within seconds or only by a compaction.`,
    ...(files > 0 && isChanged ? ['With an attachment, rev is the revision that the request before returned.'] : []),
  ];
}

interface Requests {
  /** Stores the result. Empty: the winner stays as it is. */
  readonly first: readonly ServerRequest[];
  /** Each takes the revision that the one before returned. */
  readonly files: readonly ((rev: string) => ServerRequest)[];
  /** Deletes the other revisions. */
  readonly last: ServerRequest;
}

function requestsOf(
  { database, id, leaves, result }: Resolution,
  winner: Leaf,
  files: readonly KeptFile[],
  isChanged: boolean,
): Requests {
  const path = pathOf(database, '_bulk_docs');
  const identity = (rev: string) => `"_id":${JSON.stringify(id)},"_rev":${JSON.stringify(rev)}`;
  const members = membersWithout(result, new Set(['_id', '_rev'])).map(
    ({ nameText, value }) => `,${nameText}:${printCompact(value)}`,
  );
  const deletions = leaves.slice(1).map(({ rev }) => `{${identity(rev)},"_deleted":true}`);
  return {
    first: isChanged ? [{ method: 'POST', path, json: `{"docs":[{${identity(winner.rev)}${members.join('')}}]}` }] : [],
    files: files.map(({ name, body }) => (rev) => ({
      method: 'PUT',
      path: `${attachmentPath(database, id, name)}?rev=${rev}`,
      body,
      headers: { 'content-type': body.type || 'application/octet-stream' },
    })),
    last: { method: 'POST', path, json: `{"docs":[${deletions.join(',')}]}` },
  };
}

/** Nothing is deleted before everything else is stored. */
async function run({ first, files, last }: Requests, winner: string): Promise<void> {
  let rev = winner;
  for (const request of first) rev = (await storeAll(request)) ?? rev;
  for (const toRequest of files) {
    const request = toRequest(rev);
    rev = parseResponse<{ readonly rev: string }>(await exchange(request), request).rev;
  }
  await storeAll(last);
}

/** Returns the first new revision. Fails if any of the documents is refused. */
async function storeAll(request: ServerRequest): Promise<string | undefined> {
  type Row = { readonly rev?: string; readonly error?: string; readonly reason?: string };
  const rows = parseResponse<readonly Row[]>(await exchange(request), request);
  const refused = rows.find(({ error }) => error !== undefined);
  if (refused === undefined) return rows[0]?.rev;
  throw new Error(
    `Not stored (${refused.error}): ${refused.reason ?? refused.error} What you chose is kept: close this, look at the document as it is now, and go on from there.`,
  );
}

/** A revision that came in the meantime would be a conflict again, or would be lost. */
async function failIfChanged({ database, id, leaves }: Resolution): Promise<void> {
  const now = await readLeaves(database, id, leaves[0]?.rev ?? '');
  const [before, after] = [leaves, now].map((all) => all.map(({ rev }) => rev).sort());
  if (before?.join() !== after?.join())
    throw new Error(
      'The document was changed since you began to choose. Nothing was stored, and what you chose is kept: close this, and look at the fields again.',
    );
}

interface KeptFile {
  readonly name: string;
  readonly body: Blob;
}

async function readAttachment({ database, id }: Resolution, { rev, name }: KeptAttachment): Promise<KeptFile> {
  const path = `${attachmentPath(database, id, name)}?rev=${rev}`;
  const response = await open({ method: 'GET', path, headers: { accept: '*/*' } }, new AbortController().signal);
  return { name, body: await response.blob() };
}
