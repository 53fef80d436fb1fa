/**
 * The hash of a new revision. It depends on nothing but the edit itself, so the same edit on two replicas produces
 * the same revision, and no conflict (docs/http/documents.md#revision-identity).
 *
 * MD5, as 32 lower-case hexadecimal digits, over the UTF-8 form of these lines, joined by newlines (0x0a):
 *
 *     deleted             `0` or `1`
 *     parent              the parent's revision id, empty if there is none
 *     attachment …        per attachment, ordered by name (code units): the JSON array [name, type, digest]
 *     body                the JSON object text as stored: minified, without members that begin with `_`
 *
 * No line can be mistaken for another: a revision id has no control characters, `JSON.stringify` writes none, an
 * attachment's line begins with `[`, and the body, which comes last, begins with `{`. This never changes: replicas of
 * different versions must agree.
 */
import { LINE_FEED, ZERO } from '../../../base/json/characters.ts';
import { joinBytes } from '../../../base/shared/bytes.ts';
import { sortInSteps } from '../../../base/shared/sort-in-steps.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import type { RevId } from '../contract.ts';
import { loadMd5, loadMd5InSteps, type Md5, type Md5InSteps } from '../md5.ts';

interface RevisionHashInput {
  readonly deleted: boolean;
  readonly parent: RevId | undefined;
  /** The text, or its UTF-8 bytes; both produce the same hash. */
  readonly body: string | Uint8Array;
  readonly attachments?: readonly HashedAttachment[] | undefined;
}

interface HashedAttachment {
  readonly name: string;
  readonly type: string;
  readonly digest: string;
}

export interface RevisionHasher {
  /** Returns 32 hexadecimal digits. */
  hash(input: RevisionHashInput): string;
  /** Like `hash`, but lets other tasks run in the middle of a long body. */
  hashInSteps(input: RevisionHashInput & { readonly body: Uint8Array }): CooperativeTask<string>;
}

/**
 * Loads the digest function, unless the host passes its own; from then on hashing is synchronous. All databases of a
 * thread may share a hasher.
 */
export async function createRevisionHasher(md5?: Md5): Promise<RevisionHasher> {
  return new ScratchHasher(md5 ?? (await loadMd5()), await loadMd5InSteps());
}

const SCRATCH_BYTES = 16 * 1024;
/** Bytes that are hashed in one step. */
const STEP_BYTES = 512 * 1024;
/** Attachments whose lines are hashed in one step. */
const STEP_ATTACHMENTS = 256;
/** Room for the head of a document without attachments: its two newlines, its flag, and a parent in plain characters. */
const HEAD_BYTES = 1024;
const FIRST_WIDE = 0x80;
const encoder = new TextEncoder();

/** Puts everything to be hashed into one piece, since each call of a digest function costs as much as some hundred bytes. */
class ScratchHasher implements RevisionHasher {
  readonly #md5: Md5;
  readonly #md5InSteps: Md5InSteps;
  readonly #scratch = new Uint8Array(SCRATCH_BYTES);

  constructor(md5: Md5, md5InSteps: Md5InSteps) {
    this.#md5 = md5;
    this.#md5InSteps = md5InSteps;
  }

  hash(input: RevisionHashInput): string {
    const body = typeof input.body === 'string' ? encoder.encode(input.body) : input.body;
    const headEnd = this.#putPlainHead(input);
    const end = headEnd + body.length;
    if (headEnd === 0 || end > SCRATCH_BYTES) return this.#md5(joinBytes([encoder.encode(writeHead(input)), body]));
    this.#scratch.set(body, headEnd);
    return this.#md5(this.#scratch.subarray(0, end));
  }

  *hashInSteps(input: RevisionHashInput & { readonly body: Uint8Array }): CooperativeTask<string> {
    const attachments = yield* sortInSteps(input.attachments ?? [], compareNames);
    return yield* this.#md5InSteps(piecesOf(input, attachments, input.body));
  }

  /** Puts the head of most documents into the scratch; returns 0 if it has attachments, or a parent that is not plain. */
  #putPlainHead({ deleted, parent: rev, attachments }: RevisionHashInput): number {
    const parent: string = rev ?? '';
    const hasAttachments = attachments !== undefined && attachments.length > 0;
    if (hasAttachments || parent.length > HEAD_BYTES) return 0;
    const scratch = this.#scratch;
    scratch[0] = deleted ? ZERO + 1 : ZERO;
    scratch[1] = LINE_FEED;
    let end = 2;
    for (let at = 0; at < parent.length; at++) {
      const code = parent.charCodeAt(at);
      if (code >= FIRST_WIDE) return 0;
      scratch[end++] = code;
    }
    scratch[end] = LINE_FEED;
    return end + 1;
  }
}

function* piecesOf(
  head: RevisionHashInput,
  attachments: readonly HashedAttachment[],
  body: Uint8Array,
): Iterable<Uint8Array> {
  yield encoder.encode(writeFirstLines(head));
  for (let from = 0; from < attachments.length; from += STEP_ATTACHMENTS) {
    yield encoder.encode(writeAttachments(attachments.slice(from, from + STEP_ATTACHMENTS)));
  }
  for (let from = 0; from < body.length; from += STEP_BYTES) yield body.subarray(from, from + STEP_BYTES);
}

function writeHead({ deleted, parent, attachments = [] }: RevisionHashInput): string {
  return writeFirstLines({ deleted, parent }) + writeAttachments(attachments.toSorted(compareNames));
}

function writeFirstLines({ deleted, parent }: Pick<RevisionHashInput, 'deleted' | 'parent'>): string {
  return `${deleted ? '1' : '0'}\n${parent ?? ''}\n`;
}

function compareNames(left: HashedAttachment, right: HashedAttachment): number {
  return left.name < right.name ? -1 : 1;
}

function writeAttachments(attachments: readonly HashedAttachment[]): string {
  return attachments.map(({ name, type, digest }) => `${JSON.stringify([name, type, digest])}\n`).join('');
}
