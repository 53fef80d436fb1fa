import type { Fetch } from '../database-client/contract.ts';
import { database } from '../database-client/database.ts';
import { answerOf, SetteeError } from '../database-client/requests.ts';
import type { Refused, Written } from '../interface/documents.ts';
import { ABOUT_ONE_DOCUMENT, Batch, bulkBody, createFinder, sendBisecting } from './bulk-writes.ts';
import type { ImportOptions, ImportResult, RefusedLine } from './contract.ts';
import { isGzip } from './format.ts';
import { linesOf } from './lines.ts';

/** The source of an import: decompressed, and counted as it is read. */
interface Source {
  readonly stream: ReadableStream<Uint8Array>;
  /** Bytes read of the source itself, and how many it has, if it says so. */
  progress(): { readonly bytes: number; readonly total?: number };
}

/** Decompresses a source that is compressed. */
async function openSource(source: Blob | ReadableStream<Uint8Array>): Promise<Source> {
  const total = source instanceof Blob ? { total: source.size } : {};
  const given = source instanceof Blob ? source.stream() : source;
  let bytes = 0;
  const reader = given.getReader();
  const first = await reader.read();
  let pending: typeof first | undefined = first;
  const counted = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull: async (controller) => {
        const { done, value } = pending ?? (await reader.read());
        pending = undefined;
        if (done) return controller.close();
        bytes += value.length;
        controller.enqueue(new Uint8Array(value));
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
  const stream =
    first.value !== undefined && isGzip(first.value) ? counted.pipeThrough(new DecompressionStream('gzip')) : counted;
  return { stream, progress: () => ({ bytes, ...total }) };
}

/** Documents and characters of one request, unless a single document is longer. */
const BATCH_DOCUMENTS = 500;
const BATCH_LENGTH = 1024 * 1024;

interface Line {
  readonly line: number;
  readonly id: string | undefined;
  readonly rev: unknown;
  readonly text: string;
}

/**
 * Writes the documents of JSON lines into a database, which is created if it does not exist: output of `exportDatabase` or `settee export`,
 * gzipped or not, or any file with a JSON object in each line. A document that has a `_rev` keeps it, and is merged as in replication:
 * a document that already exists in this or a later revision stays. One without is a new edit. Each line is written or refused; a refused line keeps
 * no other one out. Rejects if it can't go on: with a `SetteeError` if the database accepts nothing, with the error of the source or the signal's
 * reason. Lines that were written until then stay.
 *
 * @param fetch `settee.fetch`, or any other
 * @param address such as `/db/notes`
 * @param source such as the `File` of an `<input type="file">`, or the body of a Response
 */
export async function importDatabase(
  fetch: Fetch,
  address: string,
  source: Blob | ReadableStream<Uint8Array>,
  options: ImportOptions = {},
): Promise<ImportResult> {
  const path = address.replace(/\/+$/, '');
  const writer = new Writer(fetch, path, options);
  const { stream, progress } = await openSource(source);
  const show = () => options.onProgress?.({ ...progress(), ...writer.result });
  await database(fetch, path).create();
  const newBatch = () => new Batch<Line>(BATCH_DOCUMENTS, BATCH_LENGTH);
  const batches = { ofReplicas: newBatch(), ofEdits: newBatch() };
  let number = 0;
  for await (const line of linesOf(stream)) {
    number++;
    const text = line.trim();
    if (text === '') continue;
    options.signal?.throwIfAborted();
    const document = parse(text);
    const id = typeof document?._id === 'string' ? document._id : undefined;
    if (document === undefined) writer.refuse({ line: number, id, error: 'bad_request', reason: 'not a JSON object' });
    else {
      const isReplica = document._rev !== undefined;
      const batch = isReplica ? batches.ofReplicas : batches.ofEdits;
      const item = { line: number, id, rev: document._rev, text };
      if (batch.isFullFor(item)) await writer.write(batch.take(), isReplica).then(show);
      batch.add(item);
    }
  }
  await writer.write(batches.ofReplicas.take(), true);
  await writer.write(batches.ofEdits.take(), false).then(show);
  return writer.result;
}

class Writer {
  readonly #fetch: Fetch;
  readonly #path: string;
  readonly #options: ImportOptions;
  #written = 0;
  #refused = 0;

  constructor(fetch: Fetch, path: string, options: ImportOptions) {
    this.#fetch = fetch;
    this.#path = path;
    this.#options = options;
  }

  get result(): ImportResult {
    return { written: this.#written, refused: this.#refused };
  }

  refuse(refusal: RefusedLine): void {
    this.#refused++;
    this.#options.onRefused?.(refusal);
  }

  write(lines: readonly Line[], isReplica: boolean): Promise<void> {
    return sendBisecting(lines, {
      send: (some) => this.#send(some, isReplica),
      isAboutDocuments: (error) => error instanceof SetteeError && ABOUT_ONE_DOCUMENT.has(error.status),
      refuse: ({ line, id }, error) => {
        if (error instanceof SetteeError) this.refuse({ line, id, error: error.error, reason: error.reason });
      },
    });
  }

  async #send(lines: readonly Line[], isReplica: boolean): Promise<void> {
    const { signal } = this.#options;
    const address = `${this.#path}/_bulk_docs`;
    const response = await this.#fetch(address, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: bulkBody(lines, !isReplica),
      ...(signal && { signal }),
    });
    const rows = await answerOf<(Written | Refused)[]>(response, `POST ${address}`);
    this.#written += lines.length;
    const find = createFinder(lines);
    for (const [index, row] of rows.entries()) {
      if (row.ok) continue;
      this.#written--;
      const { id, error, reason } = row;
      // For edits there is a row for each, in their order.
      const found = lines[(isReplica ? find(row) : index) ?? 0] ?? lines[0];
      if (found !== undefined) this.refuse({ line: found.line, id, error, reason });
    }
  }
}

/** Undefined for anything that is not a JSON object. */
function parse(text: string): { readonly _id?: unknown; readonly _rev?: unknown } | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
