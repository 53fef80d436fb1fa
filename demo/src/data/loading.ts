/** Writes a file of JSON lines into a database, one batch after another, while the file still arrives. */
import type { Database } from './database.ts';
import type { Dataset } from './datasets.ts';

export interface Progress {
  /** Documents processed so far, including those that already existed. */
  readonly done: number;
  /** Those that did not. */
  readonly written: number;
  readonly total: number;
  readonly perSecond: number;
  readonly seconds: number;
  /** The documents of the last batch, as JSON. */
  readonly batch: readonly string[];
}

/** How many batches are in flight at once: while one is stored, the next is read. */
const AT_ONCE = 2;

/** Rejects with the signal's reason when it is cancelled; what was written stays. */
export async function load(
  { file, count, batch }: Dataset,
  database: Database,
  signal: AbortSignal,
  onProgress: (progress: Progress) => void,
): Promise<void> {
  const began = performance.now();
  await database.create();
  let done = 0;
  let written = 0;
  const write = async (documents: readonly string[]) => {
    const outcome = await database.writeAll(documents, signal);
    written += outcome.written;
    done += documents.length;
    const seconds = (performance.now() - began) / 1000;
    onProgress({ done, written, total: count, perSecond: done / seconds, seconds, batch: documents });
  };
  const underWay = new Set<Promise<void>>();
  for await (const documents of batches(await fetchLines(file, signal), batch)) {
    signal.throwIfAborted();
    const writing = write(documents).finally(() => underWay.delete(writing));
    // Its failure is handled below; until then it must not count as an unhandled rejection.
    writing.catch(() => undefined);
    underWay.add(writing);
    if (underWay.size >= AT_ONCE) await Promise.race(underWay);
  }
  await Promise.all(underWay);
}

async function fetchLines(file: string, signal: AbortSignal): Promise<ReadableStream<string>> {
  const response = await fetch(file, { signal }).catch((cause) => {
    signal.throwIfAborted();
    throw new Error('The file with the documents could not be fetched. Only this needs a network, once.', { cause });
  });
  if (!response.ok || !response.body) throw new Error(`The file ${file} is not there (${response.status})`);
  return response.body.pipeThrough(new TextDecoderStream());
}

async function* batches(text: ReadableStream<string>, size: number): AsyncGenerator<string[]> {
  const reader = text.getReader();
  let lines: string[] = [];
  let rest = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const pieces = (rest + value).split('\n');
    rest = pieces.pop() ?? '';
    lines = lines.concat(pieces);
    while (lines.length >= size) yield lines.splice(0, size);
  }
  if (lines.length > 0) yield lines;
}
