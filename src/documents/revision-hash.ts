/**
 * The hash of a new revision. It depends on nothing but the edit itself, so the same edit made on two replicas gives
 * the same revision, and no conflict (completion 5.1).
 *
 * MD5, as 32 lower-case hexadecimal digits, over the UTF-8 form of these lines, joined by newlines (0x0a):
 *
 *     deleted             `0` or `1`
 *     parent              the parent's revision id, empty where there is none
 *     attachment …        per attachment, ordered by name (code units): the JSON array [name, type, digest]
 *     body                the JSON object text as stored: minified, without members that begin with `_`
 *
 * Nothing can be taken for anything else: a revision id has no control characters, `JSON.stringify` writes none, an
 * attachment's line begins with `[`, and the body, which comes last, begins with `{`. This never changes: replicas of
 * different versions must agree.
 */
import { createMD5 } from 'hash-wasm';
import type { RevId } from './contract.ts';

export interface RevisionHashInput {
  readonly deleted: boolean;
  readonly parent: RevId | undefined;
  /** The text, or its UTF-8 bytes; both give the same hash. */
  readonly body: string | Uint8Array;
  readonly attachments?: readonly HashedAttachment[] | undefined;
}

export interface HashedAttachment {
  readonly name: string;
  readonly type: string;
  readonly digest: string;
}

export interface RevisionHasher {
  /** 32 hexadecimal digits. */
  hash(input: RevisionHashInput): string;
}

/** Loads the digest function; from then on hashing is synchronous. A hasher may be shared by all databases of a thread. */
export async function createRevisionHasher(): Promise<RevisionHasher> {
  const md5 = await createMD5();
  const scratch = new Uint8Array(SCRATCH_BYTES);
  return {
    hash(input) {
      const { body } = input;
      const head = writeHead(input);
      md5.init();
      if (typeof body === 'string') md5.update(head + body);
      else md5.update(encodeHead(head, scratch)).update(body);
      return md5.digest('hex');
    },
  };
}

/** Room for the head of a document without attachments, at up to three bytes a character. */
const SCRATCH_BYTES = 1024;
const encoder = new TextEncoder();

/** The head's bytes, in `scratch` where they fit: the digest takes them up before the next call. */
function encodeHead(head: string, scratch: Uint8Array): Uint8Array {
  if (head.length * 3 > scratch.length) return encoder.encode(head);
  return scratch.subarray(0, encoder.encodeInto(head, scratch).written);
}

function writeHead({ deleted, parent, attachments }: RevisionHashInput): string {
  const head = `${deleted ? '1' : '0'}\n${parent ?? ''}\n`;
  return attachments === undefined || attachments.length === 0 ? head : head + writeAttachments(attachments);
}

function writeAttachments(attachments: readonly HashedAttachment[]): string {
  return [...attachments]
    .sort((left, right) => (left.name < right.name ? -1 : 1))
    .map(({ name, type, digest }) => `${JSON.stringify([name, type, digest])}\n`)
    .join('');
}
