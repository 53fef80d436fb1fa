/** The documents of a file: JSON lines, a JSON list, `{"docs": […]}`, or what `_all_docs` returns. */
import type { JsonObject } from '../server/client.ts';

export interface FileEntry {
  /** Counted from 1: a line of the file, or an entry of the list. */
  readonly line: number;
  /** Undefined: the line is not a JSON object. */
  readonly doc: JsonObject | undefined;
  readonly text: string;
  /** Bytes of the file up to here; undefined if all of it had to be read first. */
  readonly bytes: number | undefined;
}

/** Longer lists can't be held in memory at once; lines can have any number. */
const MOST_LIST_BYTES = 500_000_000;
/** Bytes of the beginning by which the kind of file is recognised. */
const HEAD_BYTES = 65_536;

export async function* entriesOf(file: Blob): AsyncGenerator<FileEntry> {
  const head = (await file.slice(0, HEAD_BYTES).text()).trimStart();
  const first = head.split('\n', 1)[0] ?? '';
  const hasLines = !head.startsWith('[') && (objectIn(first) !== undefined ? !isList(first) : !startsObject(first));
  if (hasLines || isOneLongLine(head, file)) yield* linesOf(file);
  else yield* listOf(file);
}

/** The first entries, for a look before the import. */
export async function firstEntries(file: Blob, count: number): Promise<readonly FileEntry[]> {
  const found: FileEntry[] = [];
  for await (const entry of entriesOf(file)) {
    if (found.length === count) break;
    found.push(entry);
  }
  return found;
}

async function* linesOf(file: Blob): AsyncGenerator<FileEntry> {
  const reader = file.stream().pipeThrough(new TextDecoderStream()).getReader();
  let [rest, line, bytes] = ['', 0, 0];
  for (;;) {
    const { done, value = '' } = await reader.read();
    bytes += value.length;
    const lines = (rest + value).split('\n');
    rest = done ? '' : (lines.pop() ?? '');
    for (const text of lines) {
      line += 1;
      if (text.trim() !== '') yield { line, doc: objectIn(text), text, bytes };
    }
    if (done) return;
  }
}

async function* listOf(file: Blob): AsyncGenerator<FileEntry> {
  if (file.size > MOST_LIST_BYTES) {
    throw new Error('The list is too long to be read at once. Save it as JSON lines: one document a line.');
  }
  const value: unknown = parse(await file.text());
  for (const [index, entry] of itemsOf(value).entries()) {
    yield { line: index + 1, doc: isObject(entry) ? entry : undefined, text: JSON.stringify(entry), bytes: undefined };
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

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`The file is neither JSON nor JSON lines: ${error instanceof Error ? error.message : error}`);
  }
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

/** An object over several lines begins with a line that is not JSON by itself. */
function startsObject(line: string): boolean {
  return line.trimStart().startsWith('{');
}

/** The first document alone is longer than the beginning that was read, and the file too long for a list. */
function isOneLongLine(head: string, file: Blob): boolean {
  return head.startsWith('{') && !head.includes('\n') && file.size > MOST_LIST_BYTES;
}
