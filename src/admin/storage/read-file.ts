/** The documents of a file: JSON lines, a JSON list, `{"docs": […]}`, or what `_all_docs` returns. */
import type { JsonObject } from '../server/client.ts';

export interface FileEntry {
  /** Counted from 1: a line of the file, or an entry of the list. */
  readonly line: number;
  /** Undefined: the line is not a JSON object. */
  readonly doc: JsonObject | undefined;
  readonly text: string;
  /** How much of the file comes before the next entry, from 0 to 1. */
  readonly share: number;
}

/** Bytes of a JSON list, which is parsed in memory as a whole. A file of JSON lines may have any length. */
const MAX_LIST_BYTES = 500_000_000;
/** Bytes of the beginning by which the kind of file is recognised. */
const HEAD_BYTES = 65_536;

export async function* entriesOf(file: Blob): AsyncGenerator<FileEntry> {
  const value = (await hasLines(file)) ? undefined : await wholeOf(file);
  if (value === undefined) yield* linesOf(file);
  else yield* listOf(itemsOf(value));
}

/** What a look into a file finds. */
export interface FileLook {
  /** The first entries. */
  readonly first: readonly FileEntry[];
  readonly documents: number;
  /** Entries that are no documents. */
  readonly others: number;
  /** How much of the file was looked at, from 0 to 1: the numbers are those of that part. */
  readonly share: number;
}

/** Entries of a file that are counted before an import: to count more takes seconds. */
const MAX_COUNTED = 100_000;

/** A look before the import: the first `count` entries, and how many there are. */
export async function lookInto(file: Blob, count: number, max = MAX_COUNTED): Promise<FileLook> {
  const first: FileEntry[] = [];
  let [documents, others, share] = [0, 0, 1];
  for await (const entry of entriesOf(file)) {
    if (documents + others === max) return { first, documents, others, share };
    if (first.length < count) first.push(entry);
    if (entry.doc === undefined) others += 1;
    else documents += 1;
    share = entry.share;
  }
  return { first, documents, others, share: 1 };
}

async function* linesOf(file: Blob): AsyncGenerator<FileEntry> {
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  let [rest, line, characters] = ['', 0, 0];
  for (;;) {
    const { done, value = '' } = await reader.read();
    const lines = (rest + value).split('\n');
    rest = done ? '' : (lines.pop() ?? '');
    for (const text of lines) {
      line += 1;
      characters += text.length + 1;
      if (text.trim() !== '') yield { line, doc: objectIn(text), text, share: Math.min(1, characters / file.size) };
    }
    if (done) return;
  }
}

function* listOf(items: readonly unknown[]): Generator<FileEntry> {
  for (const [index, entry] of items.entries()) {
    const doc = isObject(entry) ? entry : undefined;
    yield { line: index + 1, doc, text: JSON.stringify(entry), share: (index + 1) / items.length };
  }
}

/** Whether the first line is a document by itself, or no JSON at all. */
async function hasLines(file: Blob): Promise<boolean> {
  const head = (await file.slice(0, HEAD_BYTES).text()).trimStart();
  if (head.startsWith('[')) return false;
  const [first = ''] = head.split('\n', 1);
  return objectIn(first) === undefined ? !head.startsWith('{') : !isList(first);
}

/** The value of the file. Undefined: it is no single value, so its first document may be a line longer than what was looked at. */
async function wholeOf(file: Blob): Promise<unknown> {
  const isObjects = (await file.slice(0, HEAD_BYTES).text()).trimStart().startsWith('{');
  if (file.size > MAX_LIST_BYTES) {
    if (isObjects) return undefined;
    throw new Error('The list is too long to be read at once. Save it as JSON lines: one document a line.');
  }
  const text = await file.text();
  try {
    return JSON.parse(text);
  } catch (error) {
    if (isObjects && objectIn(text.trimStart().split('\n', 1)[0] ?? '') !== undefined) return undefined;
    throw new Error(`The file is neither JSON nor JSON lines: ${error instanceof Error ? error.message : error}`);
  }
}

/** A list, the list within an object, or the object as the only document. */
function itemsOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value;
  if (!isObject(value)) return [value];
  if (Array.isArray(value['docs'])) return value['docs'];
  if (!Array.isArray(value['rows'])) return [value];
  return value['rows'].map((row: unknown) => (isObject(row) && isObject(row['doc']) ? row['doc'] : row));
}

function objectIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** `{"docs": […]}` in one line is one list, not one document. */
function isList(line: string): boolean {
  const value = objectIn(line);
  return Array.isArray(value?.['docs']) || Array.isArray(value?.['rows']);
}
