import { DatabaseError } from '../../../base/errors/database-error.ts';
import { parseInSteps } from '../../../base/json/parse-in-steps.ts';
import { type CooperativeTask, eachInSteps, joinInSteps } from '../../../base/shared/turn.ts';
import { putTogether, wholeCharactersEnd } from '../../../base/shared/utf8.ts';
import type { JournalRecord } from '../../../storage/page-store.ts';
import type { DocId, RevId } from '../../documents/contract.ts';
import type { BodyLocation, StoredBytes } from '../contract.ts';
import { decodeAttachment, encodeAttachment } from '../state/attachments-tree.ts';
import { isHex } from '../state/entry.ts';

/**
 * Redo records: what a commit changed, not its outcome. Text: one line of JSON, then one line for each body that the
 * record contains (bodies hold no newline, since white space outside strings is removed from them).
 */
export interface JournalEntry {
  readonly revisions: readonly RevisionChange[];
  readonly locals: readonly LocalChange[];
  readonly purges: readonly PurgeChange[];
  /** Bytes of the commit, whose pages are among `pages`; without pages, existing bytes that were found to be gzip. */
  readonly attachments: readonly StoredBytes[];
  /** Pages of the commit. */
  readonly pages: readonly number[];
  /** The update sequence after the commit. */
  readonly updateSeq: number;
}

/** A revision with as much of its ancestry as is needed to place it. */
export interface RevisionChange {
  readonly id: DocId;
  readonly seq: number;
  readonly start: number;
  readonly ids: readonly string[];
  readonly deleted: boolean;
  /** Whether the document did not exist before: then a replay need not look. */
  readonly isFirst: boolean;
  /** The location of the body, or the body itself; without meaning if the revision was known and only its ancestry is new. */
  readonly body: BodyLocation | string;
  /** The digests of its attachments; undefined if it has none. */
  readonly attachments: readonly string[] | undefined;
}

/** `value` undefined removes the key. */
export interface LocalChange {
  readonly key: string;
  readonly value: string | undefined;
}

export interface PurgeChange {
  readonly id: DocId;
  readonly seq: number;
  readonly purgeSeq: number;
  readonly revs: readonly RevId[];
}

const INLINE = -1;

/** Flags of a revision, added together. */
const DELETED = 1;
const FIRST = 2;

/** Id, sequence number, generation, hashes, flags, and the body's page, offset, length and checksum. */
type RevisionTuple = [DocId, number, number, readonly string[], number, number, number, number, number?];

/** The lists of a stored entry, with the type of their items. */
interface StoredLists {
  readonly r: RevisionTuple;
  readonly l: readonly [string, string | null];
  readonly x: readonly [DocId, number, number, readonly RevId[]];
  readonly p: number;
  /** The revisions, by their positions, that refer to attachments, and the digests. */
  readonly a: readonly [number, readonly string[]];
  /** Digests of new attachments, and their entries. */
  readonly n: readonly [string, string];
}

/** Empty lists are left out. */
type StoredEntry = { readonly u: number } & { readonly [Name in keyof StoredLists]?: readonly StoredLists[Name][] };

/** Revisions encoded, or decoded, between two checks of the clock. */
const REVISIONS_PER_STEP = 1_024;
/** Units of a long local document between two checks of the clock. */
const UNITS_PER_STEP = 524_288;

/** Returns the record's text, and its pieces if it is long (`JournalRecord`). */
export function* encodeJournalEntry(entry: JournalEntry): CooperativeTask<Pick<JournalRecord, 'text' | 'pieces'>> {
  const isLong = entry.locals.some(({ value = '' }) => value.length > UNITS_PER_STEP);
  const lists = [
    yield* encodeList('l', isLong ? [] : entry.locals, ({ key, value }) => [key, value ?? null]),
    yield* encodeList('x', entry.purges, ({ id, seq, purgeSeq, revs }) => [id, seq, purgeSeq, revs]),
    yield* encodeList('p', entry.pages, (page) => page),
    yield* encodeList('n', entry.attachments, (bytes) => [bytes.digest, encodeStoredBytes(bytes)]),
    yield* encodeList('a', yield* referencesOf(entry.revisions), (reference) => reference),
  ];
  const rest = `{"u":${entry.updateSeq}${lists.join('')}`;
  const revisions = entry.revisions.length === 0 ? '}' : yield* encodeRevisions(entry.revisions);
  if (!isLong) return { text: `${rest}${revisions}` };
  const pieces = [`${rest},"l":`, ...(yield* encodeLocals(entry.locals)), revisions];
  return { text: pieces.reduce((text, piece) => text + piece), pieces };
}

/** Returns a list of `StoredEntry` after its name; nothing if it is empty. */
function* encodeList<T, Name extends keyof StoredLists>(
  name: Name,
  items: readonly T[],
  toStored: (item: T) => StoredLists[Name],
): CooperativeTask<string> {
  if (items.length === 0) return '';
  return `,"${name}":[${yield* joinInSteps(items, (item) => JSON.stringify(toStored(item)))}]`;
}

function* referencesOf(revisions: readonly RevisionChange[]): CooperativeTask<StoredLists['a'][]> {
  const references: StoredLists['a'][] = [];
  yield* eachInSteps(revisions, ({ attachments }, index) => {
    if (attachments !== undefined) references.push([index, attachments]);
  });
  return references;
}

/** Returns the last member of the line, its end, and the lines after it. */
function* encodeRevisions(revisions: readonly RevisionChange[]): CooperativeTask<string> {
  // The first reader of a text that grew in parts has to join them in one step. These are joined in each step.
  const pieces: string[] = [];
  let tuples: string[] = [];
  let bodies = '';
  for (const change of revisions) {
    tuples.push(encodeRevision(change));
    if (typeof change.body === 'string') bodies += `\n${change.body}`;
    if (tuples.length < REVISIONS_PER_STEP) continue;
    pieces.push(tuples.join(','));
    tuples = [];
    yield;
  }
  if (tuples.length > 0) pieces.push(tuples.join(','));
  return `,"r":[${pieces.join(',')}]}${bodies}`;
}

function* encodeLocals(locals: readonly LocalChange[]): CooperativeTask<string[]> {
  const pieces: string[] = [];
  for (const [index, { key, value }] of locals.entries()) {
    pieces.push(`${index === 0 ? '[' : ','}[${JSON.stringify(key)},`);
    if (value === undefined) pieces.push('null');
    else for (const piece of yield* quoted(value)) pieces.push(piece);
    pieces.push(']');
  }
  pieces.push(']');
  return pieces;
}

/** Returns the JSON of a text, in pieces. */
function* quoted(value: string): CooperativeTask<string[]> {
  const pieces = ['"'];
  yield* putTogether(value);
  for (let from = 0; from < value.length; ) {
    const to = wholeCharactersEnd(value, from + UNITS_PER_STEP);
    pieces.push(JSON.stringify(value.slice(from, to)).slice(1, -1));
    from = to;
    yield;
  }
  pieces.push('"');
  return pieces;
}

/** Returns a `RevisionTuple` as JSON. Written by hand, since it is most of what a large commit writes. */
function encodeRevision({ id, seq, start, ids, deleted, isFirst, body }: RevisionChange): string {
  const flags = (deleted ? DELETED : 0) + (isFirst ? FIRST : 0);
  const place = typeof body === 'string' ? `${INLINE},0,0` : encodePlace(body);
  return `[${JSON.stringify(id)},${seq},${start},${encodeHashes(ids)},${flags},${place}]`;
}

function encodePlace({ page, offset, length, checksum }: BodyLocation): string {
  return checksum === undefined ? `${page},${offset},${length}` : `${page},${offset},${length},${checksum}`;
}

function encodeHashes(hashes: readonly string[]): string {
  const [first = '', second] = hashes;
  if (hashes.length > 2 || !isHex(first) || (second !== undefined && !isHex(second))) return JSON.stringify(hashes);
  return second === undefined ? `["${first}"]` : `["${first}","${second}"]`;
}

export function* decodeJournalEntry(record: JournalRecord): CooperativeTask<JournalEntry> {
  const { text } = record;
  const end = lineEnd(text, 0);
  const stored = yield* parseLine(text.slice(0, end), record.number);
  return {
    revisions: yield* decodeRevisions(stored, text, end + 1),
    locals: (stored.l ?? []).map(([key, value]) => ({ key, value: value ?? undefined })),
    purges: (stored.x ?? []).map(([id, seq, purgeSeq, revs]) => ({ id, seq, purgeSeq, revs })),
    attachments: (stored.n ?? []).map(([digest, entry]) => decodeStoredBytes(digest, entry)),
    pages: stored.p ?? [],
    updateSeq: stored.u,
  };
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from);
  return end < 0 ? text.length : end;
}

/** Decodes the revisions. `bodiesStart`: the position of the first line with a body in the record's text. */
function* decodeRevisions(stored: StoredEntry, text: string, bodiesStart: number): CooperativeTask<RevisionChange[]> {
  const references = new Map(stored.a);
  const revisions: RevisionChange[] = [];
  let at = bodiesStart;
  for (const [id, seq, start, ids, flags, page, offset, length, checksum] of stored.r ?? []) {
    const isInline = page === INLINE;
    const end = isInline ? lineEnd(text, at) : at;
    const body = isInline ? text.slice(at, end) : { page, offset, length, checksum };
    if (isInline) at = end + 1;
    const attachments = references.get(revisions.length);
    const [deleted, isFirst] = [(flags & DELETED) !== 0, (flags & FIRST) !== 0];
    revisions.push({ id, seq, start, ids, deleted, isFirst, body, attachments });
    if (revisions.length % REVISIONS_PER_STEP === 0) yield;
  }
  return revisions;
}

/** Returns an entry of the tree to which nothing refers yet. */
function encodeStoredBytes(bytes: StoredBytes): string {
  return encodeAttachment({ ...bytes, references: 0, leaves: 0 });
}

function decodeStoredBytes(digest: string, text: string): StoredBytes {
  return decodeAttachment(digest, text);
}

function* parseLine(line: string, number: number): CooperativeTask<StoredEntry> {
  try {
    return (yield* parseInSteps(line)) as StoredEntry;
  } catch (cause) {
    throw new DatabaseError('storage_corrupt', `Journal record ${number} can't be read. Restore from a backup.`, {
      cause,
    });
  }
}
