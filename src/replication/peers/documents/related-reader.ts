/**
 * Reads documents with long attachments as `multipart/related`, to be written while they arrive: as the source sends them in one response, or
 * assembled from each attachment by itself. Either way the document is the one that was read before, and content is passed on only while it
 * matches the stubs. Only data in transit is held in memory.
 */
import { isObject, type JsonObject, ownMember } from '../../../base/json/objects.ts';
import { boundaryOf, type IncomingPart, readParts } from '../../../base/shared/multipart-reader.ts';
import { type CooperativeTask, runCooperatively } from '../../../base/shared/turn.ts';
import { readDigest } from '../../../database/documents/stored-attachments.ts';
import { ReplicationError } from '../../failure.ts';
import type { Answer } from '../client/answer.ts';
import { AttemptFailure } from '../client/attempt-failure.ts';
import type { PeerClient } from '../client/peer-client.ts';
import type { AttachedDocument, DocumentText, RelatedBody, Stub } from '../contract.ts';
import { documentPath, isAddressable, isSegment, queryText } from '../identifiers.ts';
import {
  ContentMismatch,
  checkedContent,
  contentMismatch,
  type ExpectedContent,
  plainContent,
} from './content-check.ts';
import { attachmentNames, readDocumentText } from './document-text.ts';
import { type Following, relatedBody, relatedType, withFollowing } from './related-writer.ts';

/** A response that is read outside of the call that returned it; the call lasts until reading ends. */
class Handover {
  readonly answer: Promise<Answer>;
  #resolve: ((answer: Answer) => void) | undefined;
  #reject: ((failure: unknown) => void) | undefined;
  #end: (() => void) | undefined;
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  constructor() {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  async give(answer: Answer): Promise<void> {
    this.#resolve?.(answer);
    await this.#ended;
    await answer.discard();
  }

  fail(failure: unknown): void {
    this.#reject?.(failure);
  }

  end(): void {
    this.#end?.();
  }
}

/** Returns a text that occurs in no document by chance. */
type NewBoundary = () => string;
type UseBody<T> = (body: RelatedBody) => Promise<T>;

/** Attachments that are processed between two checks of the clock. */
const PER_STEP = 256;
/** Extra characters that a document may have compared with when it was read before. */
const MAX_MORE_LENGTH = 1_048_576;

/** `other form`: the source does not respond in this form. `useless`: not with this document. */
type WholeOutcome<T> = 'other form' | 'useless' | { readonly result: T };

const RELATED = /^\s*multipart\/related\s*;/i;

export class RelatedReader {
  readonly #client: PeerClient;
  readonly #newBoundary: NewBoundary;
  #sendsRelated = true;

  constructor(client: PeerClient, newBoundary: NewBoundary) {
    this.#client = client;
    this.#newBoundary = newBoundary;
  }

  /**
   * Returns the result of `use`, called with the body; `use` is called again with another body if the first was unusable. Fails with `not_found` if
   * the revision does not exist any more, or an attachment of it, and with `ContentMismatch`.
   */
  async read<T>(wanted: AttachedDocument, use: UseBody<T>): Promise<T> {
    const { id } = wanted.document;
    if (!isAddressable(id)) throw new ContentMismatch('the id of the document cannot be part of a URL');
    if (this.#sendsRelated) {
      const outcome = await this.#readWhole(wanted, use);
      if (typeof outcome !== 'string') return outcome.result;
      if (outcome === 'other form') this.#sendsRelated = false;
    }
    return use(await this.#partByPart(wanted));
  }

  /**
   * Requests the revision itself. (With `latest=true` some servers return the winner, which has other attachments, and return nothing if
   * the revision is a deletion.)
   */
  async #readWhole<T>(wanted: AttachedDocument, use: UseBody<T>): Promise<WholeOutcome<T>> {
    const { document, since } = wanted;
    const known = since.length === 0 ? undefined : JSON.stringify(since);
    const query = queryText({ rev: document.rev, attachments: 'true', atts_since: known });
    const path = `${documentPath(document.id)}${query}`;
    const headers = { accept: 'multipart/related' };
    const request = { method: 'GET', path, headers, accepts: [406], names: `document ${document.id}` };
    try {
      return await this.#client.ask(request, (answer) => this.#useWhole(answer, wanted, use));
    } catch (failure) {
      if (failure instanceof ContentMismatch || isNotFound(failure)) return 'useless';
      throw failure;
    }
  }

  async #useWhole<T>(answer: Answer, wanted: AttachedDocument, use: UseBody<T>): Promise<WholeOutcome<T>> {
    const type = answer.header('content-type') ?? '';
    const boundary = boundaryOf(type);
    try {
      if (answer.status >= 300 || !RELATED.test(type) || boundary === undefined) return 'other form';
      const parts = readParts(answer.chunks(), boundary, (reason) => new ContentMismatch(reason));
      const following = await readFollowing(parts, wanted, answer);
      if (following === undefined) return 'useless';
      const contentOf = (one: Following) => nextContent(parts, one);
      return { result: await use(await this.#bodyOf(wanted, following, contentOf)) };
    } finally {
      await answer.discard();
    }
  }

  #partByPart(wanted: AttachedDocument): Promise<RelatedBody> {
    const following = wanted.stubs
      .filter(({ isMissing }) => isMissing)
      // The digest may be for the stored bytes, compressed, which differ from these.
      .map((stub) => ({ stub, encodedLength: undefined, hasDigest: false }));
    return this.#bodyOf(wanted, following, ({ stub }) => this.#content(wanted.document, stub));
  }

  async #bodyOf(
    { document, stubs }: AttachedDocument,
    following: readonly Following[],
    contentOf: (one: Following) => AsyncIterable<Uint8Array>,
  ): Promise<RelatedBody> {
    const boundary = this.#newBoundary();
    const coming = new Set(following.map(({ stub }) => stub));
    const kept = stubs.filter((stub) => !coming.has(stub));
    const text = await runCooperatively(withFollowing(document.text, following, kept));
    return { type: relatedType(boundary), chunks: relatedBody(boundary, text, following, contentOf) };
  }

  /** A separate stream: the failure of its request comes out of it. */
  async *#content({ id, rev }: DocumentText, stub: Stub): AsyncGenerator<Uint8Array, void, void> {
    const { name } = stub;
    if (!isSegment(name)) throw contentMismatch(name, 'has a name that cannot be part of a URL');
    const path = `${documentPath(id)}/${encodeURIComponent(name)}${queryText({ rev })}`;
    const handed = new Handover();
    const headers = { accept: '*/*' };
    // The request to the target that this is a part of already has a permit.
    const request = {
      method: 'GET',
      path,
      headers,
      retries: 0,
      isUncounted: true,
      names: `attachment ${name} of ${id}`,
    };
    const reading = this.#client.ask(request, (answer) => handed.give(answer));
    reading.catch((failure: unknown) => handed.fail(failure));
    try {
      const answer = await handed.answer;
      yield* checkedContent(answer.chunks(), plainContent(stub));
    } catch (failure) {
      // A retry is for the document with all of its attachments.
      throw failure instanceof AttemptFailure ? failure.asFinal() : failure;
    } finally {
      handed.end();
    }
    await reading;
  }
}

function isNotFound(failure: unknown): boolean {
  return failure instanceof ReplicationError && failure.code === 'not_found';
}

/** Returns the attachments whose content follows, as the first part announces them; undefined if it is another document, or describes others. */
async function readFollowing(
  parts: AsyncIterator<IncomingPart, void, void>,
  wanted: AttachedDocument,
  answer: Answer,
): Promise<readonly Following[] | undefined> {
  const first = await parts.next();
  if (first.done === true) return undefined;
  const { text, bytes } = await textOf(first.value.chunks, 2 * wanted.document.text.length + MAX_MORE_LENGTH, answer);
  try {
    return await runCooperatively(followingIn(text, wanted));
  } finally {
    answer.free(bytes);
  }
}

function* followingIn(
  text: string,
  { document, stubs }: AttachedDocument,
): CooperativeTask<readonly Following[] | undefined> {
  try {
    const { id, rev, attachments = {} } = yield* readDocumentText(text);
    if (id !== document.id || rev !== document.rev) return undefined;
    yield;
    const known = new Map(stubs.map((stub) => [stub.name, stub]));
    const following: Following[] = [];
    for (const [index, name] of (yield* attachmentNames(text)).entries()) {
      if (index % PER_STEP === 0) yield;
      const entry = ownMember(attachments, name);
      if (!isObject(entry) || entry['follows'] !== true) continue;
      const one = toFollowing(known.get(name), entry);
      if (one === undefined) return undefined;
      following.push(one);
    }
    return following;
  } catch (failure) {
    if (failure instanceof SyntaxError) return undefined;
    throw failure;
  }
}

function toFollowing(stub: Stub | undefined, { digest, length, encoding, encoded_length }: JsonObject) {
  if (stub === undefined || digest !== stub.digest || (length ?? stub.length) !== stub.length) return undefined;
  if (encoding === undefined) return { stub, encodedLength: undefined, hasDigest: !stub.isEncoded };
  if (encoding !== 'gzip' || typeof encoded_length !== 'number' || !Number.isSafeInteger(encoded_length))
    return undefined;
  return { stub, encodedLength: encoded_length, hasDigest: true };
}

/** Returns the text, and the bytes that the response holds for it. */
async function textOf(chunks: AsyncIterable<Uint8Array>, longest: number, answer: Answer) {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of chunks) {
    const piece = decoder.decode(chunk, { stream: true });
    const size = answer.sizeOf(piece);
    await answer.hold(size);
    bytes += size;
    text += piece;
    if (text.length > longest) throw new ContentMismatch('the document differs from the one read before: it is longer');
  }
  return { text: text + decoder.decode(), bytes };
}

async function* nextContent(
  parts: AsyncIterator<IncomingPart, void, void>,
  one: Following,
): AsyncGenerator<Uint8Array, void, void> {
  const part = await parts.next();
  if (part.done === true) throw contentMismatch(one.stub.name, 'is announced, but its content is missing');
  yield* checkedContent(part.value.chunks, expectedOf(one));
}

function expectedOf({ stub, encodedLength }: Following): ExpectedContent {
  const { name, digest } = stub;
  return encodedLength === undefined ? plainContent(stub) : { name, length: encodedLength, md5: readDigest(digest) };
}
