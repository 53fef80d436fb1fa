/**
 * Reads documents whose attachments are long as `multipart/related`, to be written on as they come: in the form in which the source sends
 * them, or of peers that don't send such, put together of the document and each attachment by itself. Nothing is held but what is on its way.
 */

import { JsonCursor } from '../../../json/json-cursor.ts';
import { KeptMembers } from '../../../json/kept-members.ts';
import type { Answer } from '../asking/answer.ts';
import { AttemptFailure } from '../asking/attempt-failure.ts';
import type { PeerClient } from '../asking/peer-client.ts';
import type { AttachedDocument, RelatedBody, Stub } from '../contract.ts';
import { documentPath, queryText } from '../paths.ts';

/** Gives a text that occurs in no document by chance. */
type NewBoundary = () => string;
type UseBody<T> = (body: RelatedBody) => Promise<T>;

/** Of a body's end that is looked at: boundaries have 70 characters at most, and little may follow. */
const LONGEST_END = 256;
const RELATED = /^\s*multipart\/related\s*;/i;

export class RelatedReader {
  readonly #client: PeerClient;
  readonly #newBoundary: NewBoundary;
  #sendsRelated = true;

  constructor(client: PeerClient, newBoundary: NewBoundary) {
    this.#client = client;
    this.#newBoundary = newBoundary;
  }

  /** Gives what `use` makes of the body. Fails with `not_found` where the revision is not there any more, or an attachment of it. */
  async read<T>(wanted: AttachedDocument, use: UseBody<T>): Promise<T> {
    if (this.#sendsRelated) {
      const outcome = await this.#readWhole(wanted, use);
      if (outcome !== 'other form') return outcome.result;
      this.#sendsRelated = false;
    }
    const boundary = this.#newBoundary();
    return use({ type: relatedType(boundary), chunks: this.#partByPart(wanted, boundary) });
  }

  #readWhole<T>(
    { document, since }: AttachedDocument,
    use: UseBody<T>,
  ): Promise<'other form' | { readonly result: T }> {
    const known = since.length === 0 ? undefined : JSON.stringify(since);
    const query = queryText({
      rev: document.rev,
      revs: 'true',
      attachments: 'true',
      latest: 'true',
      atts_since: known,
    });
    const path = `${documentPath(document.id)}${query}`;
    const headers = { accept: 'multipart/related' };
    const request = { method: 'GET', path, headers, accepts: [406], names: `document ${document.id}` };
    return this.#client.ask(request, async (answer) => {
      const type = answer.header('content-type') ?? '';
      const isRelated = answer.status < 300 && RELATED.test(type);
      try {
        if (isRelated) return { result: await use({ type, chunks: wholeBody(answer, type) }) };
        return 'other form';
      } finally {
        await answer.discard();
      }
    });
  }

  async *#partByPart({ document, stubs }: AttachedDocument, boundary: string): AsyncGenerator<Uint8Array, void, void> {
    const encoder = new TextEncoder();
    const text = withFollowing(document.text, stubs);
    yield encoder.encode(`--${boundary}\r\nContent-Type: application/json\r\n\r\n${text}\r\n--${boundary}`);
    for (const { name, length, isMissing } of stubs) {
      if (!isMissing) continue;
      // In the order of the document they need no names, which a header could not have in any case.
      yield encoder.encode(`\r\nContent-Disposition: attachment\r\nContent-Length: ${length}\r\n\r\n`);
      yield* this.#content(document, name, length);
      yield encoder.encode(`\r\n--${boundary}`);
    }
    yield encoder.encode('--\r\n');
  }

  /** As a stream of its own: what the request ends with comes out of it. */
  async *#content(
    { id, rev }: AttachedDocument['document'],
    name: string,
    length: number,
  ): AsyncGenerator<Uint8Array, void, void> {
    const path = `${documentPath(id)}/${encodeURIComponent(name)}${queryText({ rev })}`;
    const handed = new Handover();
    const headers = { accept: '*/*' };
    // The request to the target that this is a part of has its place already.
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
      yield* ofLength(await handed.answer, length);
    } catch (failure) {
      // What is asked for again is the document with all of its attachments.
      throw failure instanceof AttemptFailure ? failure.asFinal() : failure;
    } finally {
      handed.end();
    }
    await reading;
  }
}

/** Fails where the body ends before its last boundary: the target would blame the document for what was lost on the way. */
async function* wholeBody(answer: Answer, type: string): AsyncGenerator<Uint8Array, void, void> {
  const last = `--${boundaryOf(type)}--`;
  let end = '';
  const decoder = new TextDecoder('latin1');
  for await (const chunk of answer.chunks()) {
    end = (end + decoder.decode(chunk.subarray(-LONGEST_END))).slice(-LONGEST_END);
    yield chunk;
  }
  if (!end.includes(last)) throw answer.unusable('it ended before its last boundary');
}

async function* ofLength(answer: Answer, length: number): AsyncGenerator<Uint8Array, void, void> {
  let bytes = 0;
  for await (const chunk of answer.chunks()) {
    bytes += chunk.length;
    yield chunk;
  }
  if (bytes !== length) throw answer.unusable(`it has ${bytes} bytes in the place of ${length}`);
}

function boundaryOf(type: string): string {
  const [, quoted, plain = ''] = /;\s*boundary\s*=\s*(?:"([^"]*)"|([^;\s]+))/i.exec(type) ?? [];
  return quoted ?? plain;
}

/** An answer that is read outside of the call that gave it, which lasts until then. */
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

export function relatedType(boundary: string): string {
  return `multipart/related; boundary="${boundary}"`;
}

/** The document's text, the content of attachments that are missing being announced. What else it has stays as it was written. */
export function withFollowing(text: string, stubs: readonly Stub[]): string {
  const entries = stubs.map(({ name, length, entry, isMissing }) => {
    const { content_type, revpos, digest } = entry;
    // The digest is of the bytes as they were stored: compressed, perhaps, which these are not.
    const shown = isMissing
      ? { content_type, revpos, length, follows: true }
      : { content_type, revpos, digest, length, stub: true };
    return `${JSON.stringify(name)}:${JSON.stringify(shown)}`;
  });
  const cursor = new JsonCursor(text);
  cursor.enter();
  const kept = new KeptMembers(text);
  kept.begin(cursor.position - 1);
  while (cursor.nextMember()) {
    if (cursor.name === '_attachments') kept.leaveOut();
    else kept.keep(cursor.keyStart, cursor.valueEnd);
  }
  const rest = kept.objectText(cursor.position);
  return `{"_attachments":{${entries.join(',')}},${rest.slice(1)}`;
}
