/**
 * Writes documents followed by their attachments (docs/http/attachments.md#multipart-uploads): the document, then their content in the order in
 * which it names them.
 */
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { KeptMembers } from '../../../base/json/kept-members.ts';
import { type JsonObject, ownMember } from '../../../base/json/objects.ts';
import { type CooperativeTask, joinInSteps } from '../../../base/shared/turn.ts';
import { wholeCharacterPieces } from '../../../base/shared/utf8.ts';
import { SHORT_ANSWER } from '../client/answer.ts';
import type { PeerClient } from '../client/peer-client.ts';
import type { DocumentText, RelatedBody, RelatedRefusal, Stub } from '../contract.ts';
import { documentPath } from '../identifiers.ts';
import { writeBulk } from './document-writer.ts';

/** An attachment whose content follows. */
export interface Following {
  readonly stub: Stub;
  /** The compressed length in bytes, if it is sent compressed. */
  readonly encodedLength: number | undefined;
  /** Its digest is known to be for the bytes as sent. */
  readonly hasDigest: boolean;
}

/** UTF-16 units of a document's text that are encoded at a time, when they are read. */
const PIECE_UNITS = 131_072;

export function relatedType(boundary: string): string {
  return `multipart/related; boundary="${boundary}"`;
}

/**
 * Yields the body. `contentOf` is called once for each attachment that follows, in order. No part of the last boundary is sent before all
 * content has arrived: a failure in between leaves a body that no target accepts.
 */
export async function* relatedBody(
  boundary: string,
  text: string,
  following: readonly Following[],
  contentOf: (one: Following) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder();
  const first = `--${boundary}\r\nContent-Type: application/json\r\n\r\n${text}\r\n--${boundary}`;
  for (const piece of wholeCharacterPieces(first, PIECE_UNITS)) yield encoder.encode(piece);
  for (const one of following) {
    yield encoder.encode(`\r\n${partHead(one)}\r\n\r\n`);
    yield* contentOf(one);
    yield encoder.encode(`\r\n--${boundary}`);
  }
  yield encoder.encode('--\r\n');
}

function partHead({ stub, encodedLength }: Following): string {
  // The place in the document's order identifies a name that a header can't hold.
  const fileName = /^[^\p{Cc}"\\]+$/u.test(stub.name) ? `; filename="${stub.name}"` : '';
  const encoding = encodedLength === undefined ? '' : '\r\nContent-Encoding: gzip';
  return `Content-Disposition: attachment${fileName}\r\nContent-Length: ${encodedLength ?? stub.length}${encoding}`;
}

/** Returns the document's text, with the following attachments announced in order. The rest stays as it was written. */
export function* withFollowing(
  text: string,
  following: readonly Following[],
  kept: readonly Stub[],
): CooperativeTask<string> {
  const entries = [yield* joinInSteps(following, followingEntry), yield* joinInSteps(kept, stubEntry)];
  const cursor = new JsonCursor(text);
  cursor.enter();
  const members = new KeptMembers(text);
  members.begin(cursor.position - 1);
  while (yield* cursor.nextMemberInSteps()) {
    if (cursor.name === '_attachments') members.leaveOut();
    else members.keep(cursor.keyStart, cursor.valueEnd);
  }
  const rest = members.objectText(cursor.position);
  return `{"_attachments":{${entries.filter((some) => some !== '').join(',')}},${rest.slice(1)}`;
}

function followingEntry({ stub, encodedLength, hasDigest }: Following): string {
  const { content_type, revpos, digest } = stub.entry;
  const encoded = encodedLength === undefined ? {} : { encoding: 'gzip', encoded_length: encodedLength };
  const shown = {
    content_type,
    revpos,
    ...(hasDigest ? { digest } : {}),
    length: stub.length,
    ...encoded,
    follows: true,
  };
  return `${JSON.stringify(stub.name)}:${JSON.stringify(shown)}`;
}

function stubEntry({ name, length, entry }: Stub): string {
  const { content_type, revpos, digest } = entry;
  return `${JSON.stringify(name)}:${JSON.stringify({ content_type, revpos, digest, length, stub: true })}`;
}

/** Statuses that concern the document. */
const OF_DOCUMENT: readonly number[] = [400, 409, 412, 413, 417, 422];
const BAD_REQUEST = 400;
const OF_RIGHTS: readonly number[] = [401, 403];
/** Statuses of peers that accept no such bodies. */
const OF_FORM: readonly number[] = [405, 406, 415, 501];

export async function writeRelated(
  client: PeerClient,
  { id, rev }: DocumentText,
  { type, chunks }: RelatedBody,
): Promise<RelatedRefusal | undefined> {
  const source = new WatchedChunks(chunks);
  const path = `${documentPath(id)}?new_edits=false`;
  const headers = { 'x-couch-full-commit': 'false' };
  const body = { type, chunks: source.read() };
  const accepts = [...OF_RIGHTS, ...OF_DOCUMENT, ...OF_FORM];
  const request = { method: 'PUT', path, headers, body, accepts, retries: 0 };
  const told = await client
    .ask(request, async (answer) => {
      const { status } = answer;
      return status < 300
        ? readWritten(await answer.object(SHORT_ANSWER), rev)
        : { status, ...(await answer.refusal()) };
    })
    // This failure made the request end early, whatever the response was.
    .finally(() => source.throwFailure());
  if (told === undefined) return undefined;
  // Checks whether a function refused this document, or the peer refuses all writes, which then fails.
  if (OF_RIGHTS.includes(told.status)) await writeBulk(client, []);
  const mayBeOfForm = told.status === BAD_REQUEST;
  return {
    isOfForm: OF_FORM.includes(told.status),
    mayBeOfForm,
    refused: { id, rev, error: told.error, reason: told.reason },
  };
}

/** Undefined if the document was written unchanged. An error may come with status 200, and some servers don't name the revision. */
function readWritten(written: JsonObject, rev: string) {
  const [asRev, error, reason] = ['rev', 'error', 'reason'].map((name) => ownMember(written, name));
  if (typeof error === 'string') return { status: 200, error, reason: typeof reason === 'string' ? reason : '' };
  const isOther = typeof asRev === 'string' && asRev !== rev;
  if (isOther) return refusedAs(`the target says that it wrote it as revision ${asRev}`);
  return asRev === rev || ownMember(written, 'ok') === true
    ? undefined
    : refusedAs('the target does not say that it wrote it');
}

function refusedAs(reason: string) {
  return { status: 200, error: 'bad_answer', reason };
}

/** Stores the chunks' failure: the sender reports only that a body was cut off. */
class WatchedChunks {
  #failure: { readonly cause: unknown } | undefined;
  readonly #chunks: AsyncIterable<Uint8Array>;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }

  async *read(): AsyncGenerator<Uint8Array, void, void> {
    try {
      yield* this.#chunks;
    } catch (cause) {
      this.#failure = { cause };
      throw cause;
    }
  }

  throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.cause;
  }
}
