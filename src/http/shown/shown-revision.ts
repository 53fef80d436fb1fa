/**
 * A revision as a response shows it: as one text if that is short, else in pieces that are built while they are sent. The text of a
 * stored body is split while it is read: its attachments come first, and the rest may have any length.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import { runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import type { StoredAttachment } from '../../database/documents/contract.ts';
import { hasAttachments, splitAttachments } from '../../database/documents/stored-attachments.ts';
import type { DocumentRecord, Snapshot, StoredNode } from '../../database/store/contract.ts';
import { documentText, type MetaFlags, metaCount, metaOf, metaPieces } from './document-rendering.ts';
import { type AttachmentFlags, attachmentsPieces } from './inline-attachments.ts';

export interface ShownRevision {
  readonly record: DocumentRecord;
  readonly node: StoredNode;
  /** The members that describe other revisions; undefined for none. */
  readonly meta: MetaFlags | undefined;
  /** What is shown of its attachments beyond their stubs; undefined for nothing. */
  readonly attachments?: AttachmentFlags | undefined;
}

/** A text of more than about this many bytes is built in pieces. It is also how much may be held for a slow reader. */
export const LONG_BYTES = 262_144;
/** About what a revision takes in a text. */
const REVISION_BYTES = 48;

/** Returns about how long its text is; more than `LONG_BYTES` if it has to be built in pieces. */
export function shownBytes(shown: ShownRevision): number {
  const { record, node, meta } = shown;
  const ofMeta = meta === undefined ? 0 : metaCount(record, node, meta) * REVISION_BYTES;
  const ofAttachments = hasShownAttachments(shown) ? LONG_BYTES + 1 : 0;
  return (node.body?.length ?? 0) + ofMeta + ofAttachments;
}

export function isLong(shown: ShownRevision): boolean {
  return shown.node.body !== undefined && shownBytes(shown) > LONG_BYTES;
}

/** Returns the texts of revisions that are not long, in one pass over their bodies; undefined for a body that is no longer stored. */
export async function shownTexts(snapshot: Snapshot, all: readonly ShownRevision[]): Promise<(string | undefined)[]> {
  const bodies = await snapshot.bodies(all.map(({ node }) => node));
  return all.map(({ record, node, meta }, index) => {
    const body = bodies[index];
    const members = meta === undefined ? undefined : metaOf(record, node, meta);
    return body === undefined ? undefined : documentText(record, node, body, members);
  });
}

/**
 * Yields the text of a revision whose body is kept, in pieces not much longer than `LONG_BYTES`. Fails with `too_large` if the
 * attachments that are shown have more than `mostAttached` plain bytes.
 */
export async function* shownPieces(
  snapshot: Snapshot,
  shown: ShownRevision,
  mostAttached = Number.POSITIVE_INFINITY,
): AsyncGenerator<string, void, void> {
  const { record, node, meta } = shown;
  // Without its closing brace.
  yield documentText(record, node, '{}', undefined).slice(0, -1);
  if (meta !== undefined) yield* metaPieces(record, node, meta);
  yield* bodyMembers(snapshot, shown, mostAttached);
}

/** Returns the body alone, with what is shown of its attachments. Undefined if it is not kept. Fails as `shownPieces` does. */
export async function attachedBody(
  snapshot: Snapshot,
  shown: ShownRevision,
  mostAttached: number,
): Promise<string | undefined> {
  if (!hasShownAttachments(shown)) return snapshot.body(shown.node);
  let text = '';
  for await (const piece of bodyMembers(snapshot, shown, mostAttached)) text += piece;
  return `{${text.slice(1)}`;
}

/** Yields a body's text after other members: from a comma on, or only its closing brace. */
async function* bodyMembers(
  snapshot: Snapshot,
  shown: ShownRevision,
  mostAttached: number,
): AsyncGenerator<string, void, void> {
  const { node, attachments: flags } = shown;
  if (flags === undefined || !hasShownAttachments(shown)) return yield* asRemainingMembers(snapshot.bodyPieces(node));
  const { stubs, rest } = await bodyParts(snapshot.bodyPieces(node));
  const { attachments } = await runCooperatively(splitAttachments(stubs));
  if (flags.content) assertShowable(attachments, mostAttached);
  yield* attachmentsPieces(snapshot, node, attachments, flags);
  yield* rest;
}

function assertShowable(attachments: readonly StoredAttachment[], most: number): void {
  const bytes = attachments.reduce((sum, { length }) => sum + length, 0);
  if (bytes <= most) return;
  const reason = `A document of the list has ${bytes} bytes of attachments, but a row can show at most ${most}. Read that document separately.`;
  throw new DatabaseError('too_large', reason);
}

/** Whether more than their stubs is shown; known without the body. */
export function hasShownAttachments({ node, attachments }: ShownRevision): boolean {
  return attachments !== undefined && node.body?.attachments !== undefined;
}

async function* asRemainingMembers(pieces: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  let isFirst = true;
  for await (const piece of pieces) {
    if (!isFirst) yield piece;
    else yield piece === '{}' ? '}' : `,${piece.slice(1)}`;
    isFirst = false;
  }
}

interface BodyParts {
  /** The body as stored, up to the end of its attachments, with a closing brace added. */
  readonly stubs: string;
  /** What follows: from a comma on if there are other members, and up to the body's closing brace in any case. */
  readonly rest: AsyncIterable<string>;
}

async function bodyParts(pieces: AsyncIterable<string>): Promise<BodyParts> {
  const iterator = pieces[Symbol.asyncIterator]();
  const search = new EndOfAttachments();
  const timeSlice = new TimeSlice();
  let stubs = '';
  for (;;) {
    const step = await iterator.next();
    if (step.done === true) return { stubs, rest: singleText('}') };
    const text = step.value;
    // The first piece of a body is longer than the beginning of attachments.
    if (stubs === '' && !hasAttachments(text)) {
      return { stubs: '{}', rest: startingWith(text === '{}' ? '}' : `,${text.slice(1)}`, iterator) };
    }
    const end = search.in(text);
    if (end !== undefined)
      return { stubs: `${stubs}${text.slice(0, end)}}`, rest: startingWith(text.slice(end), iterator) };
    stubs += text;
    if (timeSlice.isDue) await timeSlice.rest();
  }
}

async function* singleText(text: string): AsyncGenerator<string, void, void> {
  yield text;
}

async function* startingWith(text: string, iterator: AsyncIterator<string>): AsyncGenerator<string, void, void> {
  try {
    yield text;
    for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) yield step.value;
  } finally {
    await iterator.return?.();
  }
}

/** Finds where the object that is the first member's value ends, in a text that comes in pieces. */
class EndOfAttachments {
  /** The position in the next piece: after the opening brace of the text, or after an escaped character at the end of the previous piece. */
  #at = 1;
  #depth = 0;
  #isInString = false;

  /** Returns undefined if it is not in this piece. */
  in(text: string): number | undefined {
    for (; this.#at < text.length; this.#at += 1) {
      const character = text[this.#at];
      if (this.#isInString) {
        // The escaped character may be beyond the text's end: it is skipped there as well.
        if (character === '\\') this.#at += 1;
        else if (character === '"') this.#isInString = false;
      } else if (character === '"') this.#isInString = true;
      else if (character === '{') this.#depth += 1;
      else if (character === '}') this.#depth -= 1;
      if (character === '}' && !this.#isInString && this.#depth === 0) return this.#at + 1;
    }
    this.#at -= text.length;
    return undefined;
  }
}
