/** Checks the content of attachments against their stubs: content that differs is never written. */

import { isObject, type JsonObject, ownMember } from '../../../base/json/objects.ts';
import { fromBase64 } from '../../../base/shared/bytes.ts';
import { runCooperatively, TimeSlice } from '../../../base/shared/turn.ts';
import { beginMd5, loadMd5InSteps } from '../../../database/documents/md5.ts';
import { readDigest } from '../../../database/documents/stored-attachments.ts';
import { ReplicationError } from '../../failure.ts';
import type { Stub } from '../contract.ts';

/** Bytes that are digested in one step. */
const STEP_BYTES = 262_144;

/** The content is not the one that the document names, or arrived in a form that can't be read. */
export class ContentMismatch extends ReplicationError {
  constructor(reason: string) {
    super('content_md5_mismatch', reason, { isRetryable: true });
    this.name = 'ContentMismatch';
  }
}

export function contentMismatch(attachment: string, why: string): ContentMismatch {
  return new ContentMismatch(`the source's attachment ${JSON.stringify(attachment)} ${why}`);
}

/** Content that is expected. */
export interface ExpectedContent {
  readonly name: string;
  readonly length: number;
  /** 32 hexadecimal digits; undefined if the bytes as transferred can't be checked. */
  readonly md5: string | undefined;
}

/** Returns what is known of content that arrives as it was before the source stored it. The digest of compressed content is for other bytes. */
export function plainContent({ name, length, digest, isEncoded }: Stub): ExpectedContent {
  return { name, length, md5: isEncoded ? undefined : readDigest(digest) };
}

/** Yields the same bytes. Fails with `ContentMismatch`: if there are too many, before the last of them, else after it. */
export async function* checkedContent(
  chunks: AsyncIterable<Uint8Array>,
  { name, length, md5 }: ExpectedContent,
): AsyncGenerator<Uint8Array, void, void> {
  const digest = md5 === undefined ? undefined : await beginMd5();
  let bytes = 0;
  for await (const chunk of chunks) {
    bytes += chunk.length;
    if (bytes > length) throw contentMismatch(name, `has more than ${length} bytes, its stated length`);
    digest?.update(chunk);
    yield chunk;
  }
  if (bytes !== length) throw contentMismatch(name, `has ${bytes} bytes instead of ${length}`);
  if (digest !== undefined && digest.digest() !== md5) throw contentMismatch(name, OTHER_DIGEST);
}

const OTHER_DIGEST = 'has content that does not match its digest';

/** Fails with `ContentMismatch` if the inline content of a document does not match the stubs. */
export async function checkInline(attachments: JsonObject, stubs: readonly Stub[]): Promise<void> {
  const timeSlice = new TimeSlice();
  for (const stub of stubs) {
    if (timeSlice.isDue) await timeSlice.rest();
    await checkEntry(stub, ownMember(attachments, stub.name));
  }
  const known = new Set(stubs.map(({ name }) => name));
  const added = Object.keys(attachments).find((name) => !known.has(name));
  if (added !== undefined) throw contentMismatch(added, 'was not there before in the same revision');
}

async function checkEntry(stub: Stub, entry: unknown): Promise<void> {
  const { name, isMissing } = stub;
  const members = isObject(entry) ? entry : {};
  if (members['stub'] === true && !isMissing) return;
  const { data } = members;
  const bytes = typeof data === 'string' ? fromBase64(data) : undefined;
  if (bytes === undefined) throw contentMismatch(name, 'did not come with its document');
  const { length, md5 } = plainContent(stub);
  if (bytes.length !== length) throw contentMismatch(name, `has ${bytes.length} bytes instead of ${length}`);
  if (md5 !== undefined && (await md5Of(bytes)) !== md5) throw contentMismatch(name, OTHER_DIGEST);
}

async function md5Of(bytes: Uint8Array): Promise<string> {
  const digest = await loadMd5InSteps();
  return runCooperatively(digest(piecesOf(bytes)));
}

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += STEP_BYTES) yield bytes.subarray(from, from + STEP_BYTES);
}
