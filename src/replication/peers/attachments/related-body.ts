/** The form in which a document goes to the target with content behind it: the document, and its attachments in the order in which it names them. */
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { KeptMembers } from '../../../base/json/kept-members.ts';
import { type CooperativeTask, joinInSteps } from '../../../base/shared/turn.ts';
import type { Stub } from '../contract.ts';

/** An attachment of which the content follows. */
export interface Following {
  readonly stub: Stub;
  /** Where it comes compressed: how many bytes those are. */
  readonly encodedLength: number | undefined;
  /** Its digest is known to be of the bytes that come. */
  readonly hasDigest: boolean;
}

export function relatedType(boundary: string): string {
  return `multipart/related; boundary="${boundary}"`;
}

/**
 * The body. `contentOf` is called once for each attachment that follows, in their order. Nothing of the last boundary is given before all
 * content has come: what fails in between leaves a body that no target takes.
 */
export async function* relatedBody(
  boundary: string,
  text: string,
  following: readonly Following[],
  contentOf: (one: Following) => AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  const encoder = new TextEncoder();
  yield encoder.encode(`--${boundary}\r\nContent-Type: application/json\r\n\r\n${text}\r\n--${boundary}`);
  for (const one of following) {
    yield encoder.encode(`\r\n${partHead(one)}\r\n\r\n`);
    yield* contentOf(one);
    yield encoder.encode(`\r\n--${boundary}`);
  }
  yield encoder.encode('--\r\n');
}

function partHead({ stub, encodedLength }: Following): string {
  // A name that a header can't have is known by its place in the order of the document.
  const fileName = /^[^\p{Cc}"\\]+$/u.test(stub.name) ? `; filename="${stub.name}"` : '';
  const encoding = encodedLength === undefined ? '' : '\r\nContent-Encoding: gzip';
  return `Content-Disposition: attachment${fileName}\r\nContent-Length: ${encodedLength ?? stub.length}${encoding}`;
}

/** The document's text, those that follow announced in their order. What else it has stays as it was written. */
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
  while (cursor.nextMember()) {
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
