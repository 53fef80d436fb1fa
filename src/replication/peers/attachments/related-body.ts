/** The form in which a document is sent to the target with its attachments: the document, then their content in the order in which it names them. */
import { JsonCursor } from '../../../base/json/json-cursor.ts';
import { KeptMembers } from '../../../base/json/kept-members.ts';
import { type CooperativeTask, joinInSteps } from '../../../base/shared/turn.ts';
import type { Stub } from '../contract.ts';

/** An attachment whose content follows. */
export interface Following {
  readonly stub: Stub;
  /** The compressed length in bytes, if it is sent compressed. */
  readonly encodedLength: number | undefined;
  /** Its digest is known to be for the bytes as sent. */
  readonly hasDigest: boolean;
}

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
  yield encoder.encode(`--${boundary}\r\nContent-Type: application/json\r\n\r\n${text}\r\n--${boundary}`);
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
