/** Stores the documents of a file in batches. */
import { ask, type JsonObject, pathOf } from '../server/client.ts';
import { entriesOf, type FileEntry } from './read-file.ts';
import { MAX_REFUSED, type RefusedLine, runTransfer } from './transfers.ts';

/** `new`: an id that exists is refused; `replace`: it gets a new revision; `keep`: revisions are stored as they are, as a replication does. */
export type ImportMode = 'new' | 'replace' | 'keep';

export interface ImportOptions {
  readonly mode: ImportMode;
  /** The member whose value becomes the id of documents without one. Empty: the server makes ids. */
  readonly idMember: string;
}

interface Batch {
  readonly entries: readonly FileEntry[];
  readonly docs: readonly JsonObject[];
}

const BATCH_DOCUMENTS = 500;
const BATCH_CHARACTERS = 4_000_000;

export function importFile(database: string, file: File, options: ImportOptions, stored: () => void): Promise<void> {
  return runTransfer({ database, kind: 'import', fileName: file.name }, async (tell, abortSignal) => {
    let [done, refusedCount] = [0, 0];
    let refused: readonly RefusedLine[] = [];
    const refuse = (lines: readonly RefusedLine[]) => {
      refusedCount += lines.length;
      refused = [...refused, ...lines].slice(0, MAX_REFUSED);
    };
    for await (const entries of batchesOf(entriesOf(file))) {
      abortSignal.throwIfAborted();
      const { batch, bad } = toBatch(entries, options);
      refuse(bad);
      const failed = batch.docs.length === 0 ? [] : await storeBatch(database, batch, options, abortSignal);
      refuse(failed);
      done += batch.docs.length - failed.length;
      tell({ done, refusedCount, refused, share: entries.at(-1)?.share });
    }
    stored();
  });
}

/** The body of the first request, for a look before the import. */
export function bulkBody(docs: readonly JsonObject[], mode: ImportMode): JsonObject {
  return { ...(mode === 'keep' && { new_edits: false }), docs };
}

/** Documents as they will be sent, and the lines that can't be. */
export function toBatch(
  entries: readonly FileEntry[],
  options: ImportOptions,
): { readonly batch: Batch; readonly bad: readonly RefusedLine[] } {
  const sent: FileEntry[] = [];
  const docs: JsonObject[] = [];
  const bad: RefusedLine[] = [];
  for (const entry of entries) {
    const doc = entry.doc === undefined ? undefined : toDocument(entry.doc, options);
    const reason = whyNotSent(doc, options);
    if (doc === undefined || reason !== undefined) bad.push(refusedLine(entry, reason ?? ''));
    else {
      sent.push(entry);
      docs.push(doc);
    }
  }
  return { batch: { entries: sent, docs }, bad };
}

function whyNotSent(doc: JsonObject | undefined, { mode }: ImportOptions): string | undefined {
  if (doc === undefined) return 'This is not a JSON object.';
  return mode === 'keep' && typeof doc['_rev'] !== 'string' ? 'The document has no _rev to keep.' : undefined;
}

function toDocument(doc: JsonObject, { mode, idMember }: ImportOptions): JsonObject {
  const value = idMember === '' ? undefined : doc[idMember];
  const hasId = doc['_id'] !== undefined || value === undefined || value === null;
  const named = hasId ? doc : { _id: `${value}`, ...doc };
  if (mode === 'keep') return named;
  const { _rev, ...rest } = named;
  return rest;
}

async function storeBatch(
  database: string,
  { entries, docs }: Batch,
  { mode }: ImportOptions,
  abortSignal: AbortSignal,
): Promise<readonly RefusedLine[]> {
  type Row = { readonly id?: string; readonly error?: string; readonly reason?: string };
  const sent = mode === 'replace' ? await withRevisions(database, docs, abortSignal) : docs;
  const rows = await ask<readonly Row[]>('POST', pathOf(database, '_bulk_docs'), {
    json: bulkBody(sent, mode),
    signal: abortSignal,
    quiet: true,
  });
  // With new_edits=false the response has only the rows of those that are refused.
  const failed = rows.filter(({ error }) => error !== undefined);
  const isComplete = rows.length === docs.length;
  return failed.map((row) => {
    const index = isComplete ? rows.indexOf(row) : docs.findIndex((doc) => doc['_id'] === row.id);
    const entry = entries[index] ?? { line: 0, doc: undefined, text: '', share: 1 };
    return refusedLine(entry, reasonOf(row), row.id);
  });
}

function reasonOf({ error, reason }: { readonly error?: string; readonly reason?: string }): string {
  return error === 'conflict' ? 'There is a document of this id.' : `${error}: ${reason ?? ''}`;
}

/** The documents with the present revisions of those that exist. */
async function withRevisions(
  database: string,
  docs: readonly JsonObject[],
  abortSignal: AbortSignal,
): Promise<readonly JsonObject[]> {
  type Row = { readonly key?: string; readonly value?: { readonly rev?: string; readonly deleted?: boolean } | null };
  const keys = docs.flatMap((doc) => (typeof doc['_id'] === 'string' ? [doc['_id']] : []));
  if (keys.length === 0) return docs;
  const { rows } = await ask<{ rows: readonly Row[] }>('POST', pathOf(database, '_all_docs'), {
    json: { keys },
    signal: abortSignal,
    quiet: true,
  });
  const revs = new Map(rows.map(({ key, value }) => [key, value?.deleted === true ? undefined : value?.rev]));
  return docs.map((doc) => {
    const rev = typeof doc['_id'] === 'string' ? revs.get(doc['_id']) : undefined;
    return rev === undefined ? doc : { ...doc, _rev: rev };
  });
}

async function* batchesOf(entries: AsyncIterable<FileEntry>): AsyncGenerator<readonly FileEntry[]> {
  let batch: FileEntry[] = [];
  let characters = 0;
  for await (const entry of entries) {
    batch.push(entry);
    characters += entry.text.length;
    if (batch.length < BATCH_DOCUMENTS && characters < BATCH_CHARACTERS) continue;
    yield batch;
    batch = [];
    characters = 0;
  }
  if (batch.length > 0) yield batch;
}

function refusedLine({ line, doc, text }: FileEntry, reason: string, id?: string): RefusedLine {
  return { line, id: id ?? `${doc?.['_id'] ?? ''}`, reason, text };
}
