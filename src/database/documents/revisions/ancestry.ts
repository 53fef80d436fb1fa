/**
 * The stored form of a revision and its known ancestors, newest first, and nodes that read it only when asked
 * for their parent: a revision with a thousand ancestors costs no more to open, extend, stem and store than one with
 * three. tree-codec.ts defines the form of a whole tree.
 *
 *     ancestry := { [ "!" ] hash [ "=" body "," ] }
 *     hash     := 32 lower-case hexadecimal digits | "~" length ":" any text of that length
 *
 * `!` marks a deletion; a revision whose body isn't kept has no `=`. Generations count down by one. The parts need no
 * separators: plain ancestors are their hashes, back to back.
 */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { RevisionNode } from '../contract.ts';

/** Decodes a body's stored text. */
export type DecodeBody<B> = (text: string) => B;

const HASH_LENGTH = 32;
const DELETED = 0x21;
const BODY = 0x3d;
const ODD_HASH = 0x7e;

/** A node whose ancestors are still stored text. */
export class StoredRevision<B> implements RevisionNode<B> {
  readonly generation: number;
  readonly hash: string;
  readonly deleted: boolean;
  readonly body: B | undefined;
  readonly #decodeBody: DecodeBody<B>;
  /** Ancestors that were not read yet; empty once they were read, or if there are none. */
  #ancestry: string;
  #parent: RevisionNode<B> | undefined;

  constructor(revision: Omit<RevisionNode<B>, 'parent'>, ancestry: string, decodeBody: DecodeBody<B>) {
    this.generation = revision.generation;
    this.hash = revision.hash;
    this.deleted = revision.deleted;
    this.body = revision.body;
    this.#decodeBody = decodeBody;
    this.#ancestry = ancestry;
  }

  /** The parent node. Fails with `storage_corrupt` if the stored text can't be read. */
  get parent(): RevisionNode<B> | undefined {
    if (this.#ancestry !== '') {
      this.#parent = readStoredRevision(this.#ancestry, 0, this.generation - 1, this.#decodeBody);
      this.#ancestry = '';
    }
    return this.#parent;
  }

  /** The text of all ancestors; empty if they are nodes already (or none). */
  get ancestry(): string {
    return this.#ancestry;
  }

  /** Yields the ancestors that are still text, newest first, without making nodes of them: nodes of a long history would take much memory. */
  *unread(): Generator<Omit<RevisionNode<B>, 'parent'>, void, void> {
    const reader = new AncestryReader(this.#ancestry, 0, this.#decodeBody);
    for (let generation = this.generation - 1; reader.position < reader.text.length; generation -= 1) {
      yield reader.read(generation);
    }
  }

  /** Returns this revision with at most `count` ancestors; only while `ancestry` has not become nodes. */
  withAncestors(count: number): StoredRevision<B> {
    const end = skipRevisions(this.#ancestry, count);
    if (end === this.#ancestry.length) return this;
    return new StoredRevision(this, this.#ancestry.slice(0, end), this.#decodeBody);
  }
}

/** Yields the revision and its known ancestors, newest first. */
export function* revisionsBack<B>(
  newest: RevisionNode<B> | undefined,
): Generator<Omit<RevisionNode<B>, 'parent'>, void, void> {
  for (let node = newest; node !== undefined; node = node.parent) {
    yield node;
    if (node instanceof StoredRevision && node.ancestry !== '') return yield* node.unread();
  }
}

/** Reads one revision of an ancestry and leaves everything after it to the node. */
export function readStoredRevision<B>(
  text: string,
  start: number,
  generation: number,
  decodeBody: DecodeBody<B>,
): StoredRevision<B> {
  const reader = new AncestryReader(text, start, decodeBody);
  const revision = reader.read(generation);
  return new StoredRevision(revision, text.slice(reader.position), decodeBody);
}

/** Reads revisions one after another. Every method fails with `storage_corrupt` on text that is not in our form. */
export class AncestryReader<B> {
  readonly text: string;
  position: number;
  readonly #decodeBody: DecodeBody<B>;

  constructor(text: string, position: number, decodeBody: DecodeBody<B>) {
    this.text = text;
    this.position = position;
    this.#decodeBody = decodeBody;
  }

  /** Whether a revision follows, rather than the text's end or what a tree has after a path. */
  get hasRevision(): boolean {
    const code = this.text.charCodeAt(this.position);
    return isHexDigit(code) || code === DELETED || code === ODD_HASH;
  }

  read(generation: number): Omit<RevisionNode<B>, 'parent'> {
    const { text } = this;
    if (generation < 1) throw corruptTree(text, this.position, 'an ancestor too many');
    const deleted = text.charCodeAt(this.position) === DELETED;
    if (deleted) this.position++;
    const hash = this.#readHash();
    return { generation, hash, deleted, body: this.#readBody() };
  }

  #readHash(): string {
    const { text, position } = this;
    if (isPlainHash(text, position)) {
      this.position = position + HASH_LENGTH;
      return text.slice(position, this.position);
    }
    if (text.charCodeAt(position) !== ODD_HASH) throw corruptTree(text, position, 'no revision hash');
    this.position = oddHashEnd(text, position);
    return text.slice(text.indexOf(':', position) + 1, this.position);
  }

  #readBody(): B | undefined {
    const { text, position } = this;
    if (text.charCodeAt(position) !== BODY) return undefined;
    const end = bodyEnd(text, position);
    this.position = end + 1;
    return this.#decodeBody(text.slice(position + 1, end));
  }
}

/** Returns the stored text of one revision, without ancestors. */
export function writeRevision<B>(node: RevisionNode<B>, encodeBody: (body: B) => string): string {
  const hash = isPlainHash(node.hash, 0) && node.hash.length === HASH_LENGTH ? node.hash : writeOddHash(node.hash);
  const revision = node.deleted ? `!${hash}` : hash;
  return node.body === undefined ? revision : `${revision}=${encodeBody(node.body)},`;
}

export function corruptTree(text: string, position: number, problem: string): DatabaseError {
  const near = text.slice(Math.max(0, position - 40), position + 40);
  return new DatabaseError(
    'storage_corrupt',
    `Stored revision tree can't be read: ${problem} at ${position}, near "${near}". Restore the database from a replica.`,
  );
}

/** Returns the position after the first `count` revisions, or the text's length if there are no more. Does not check hash digits. */
function skipRevisions(text: string, count: number): number {
  let at = 0;
  for (let index = 0; index < count && at < text.length; index++) {
    if (text.charCodeAt(at) === DELETED) at++;
    at = text.charCodeAt(at) === ODD_HASH ? oddHashEnd(text, at) : at + HASH_LENGTH;
    if (text.charCodeAt(at) === BODY) at = bodyEnd(text, at) + 1;
  }
  return Math.min(at, text.length);
}

function oddHashEnd(text: string, start: number): number {
  const colon = text.indexOf(':', start);
  const length = Number(text.slice(start + 1, colon));
  const end = colon + 1 + length;
  if (colon < 0 || !(length > 0) || end > text.length) throw corruptTree(text, start, 'no revision hash');
  return end;
}

function bodyEnd(text: string, start: number): number {
  const end = text.indexOf(',', start);
  if (end < 0) throw corruptTree(text, start, 'a body without end');
  return end;
}

/** Returns the end of the hash that begins at `start`, if it is plain and has a body. */
export function plainHashEnd(text: string, start: number): number | undefined {
  const end = start + HASH_LENGTH;
  return text.charCodeAt(end) === BODY && isPlainHash(text, start) ? end : undefined;
}

function isPlainHash(text: string, start: number): boolean {
  for (let at = start; at < start + HASH_LENGTH; at++) {
    if (!isHexDigit(text.charCodeAt(at))) return false;
  }
  return true;
}

function isHexDigit(code: number): boolean {
  return (code >= 0x30 && code <= 0x39) || (code >= 0x61 && code <= 0x66);
}

function writeOddHash(hash: string): string {
  return `~${hash.length}:${hash}`;
}
