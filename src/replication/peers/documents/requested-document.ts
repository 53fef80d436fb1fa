/** What of a response settles a requested document: the response is checked against the request. */

import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import { hasLoneSurrogate } from '../../../base/json/portable-values.ts';
import { type CooperativeTask, mapInSteps, runCooperatively } from '../../../base/shared/turn.ts';
import type { FoundDocument, Stub, WantedDocument } from '../contract.ts';
import { ContentMismatch, checkInline } from './content-check.ts';
import { descendsFrom, generationOf, type ReadDocument, readDocumentText, revisionsAmong } from './document-text.ts';

/** A requested document: which of its revisions arrived, or are known not to arrive. */
export class Settled {
  readonly wanted: WantedDocument;
  readonly #take: (found: FoundDocument) => Promise<void>;
  /** The wanted revisions. */
  readonly revs: ReadonlySet<string>;
  readonly #open: Set<string>;
  /** Revisions that were passed on. Several wanted revisions may have the same leaf, which arrives for each of them. */
  readonly #given = new Set<string>();
  /** The problem with the last unusable response; undefined if there was none. */
  #problem: string | undefined;

  constructor(wanted: WantedDocument, take: (found: FoundDocument) => Promise<void>) {
    this.wanted = wanted;
    this.#take = take;
    this.revs = new Set(wanted.revs);
    this.#open = new Set(this.revs);
  }

  get isDone(): boolean {
    return this.#open.size === 0;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** The same document with the revisions that are not settled yet. */
  get left(): WantedDocument {
    return { ...this.wanted, revs: [...this.#open] };
  }

  /** `read` returns undefined if nothing is settled, and throws `SyntaxError` if it was not requested: neither settles anything. */
  async take(read: () => CooperativeTask<FoundDocument | undefined>): Promise<void> {
    const found = await this.#checked(read);
    if (found === undefined || (found.type === 'refused' && !found.settles.some((one) => this.#open.has(one)))) return;
    const rev = found.type === 'document' ? found.document.rev : undefined;
    if (rev === undefined || !this.#given.has(rev)) await this.#take(found);
    if (rev !== undefined) this.#given.add(rev);
    for (const one of found.settles) this.#open.delete(one);
  }

  async #checked(read: () => CooperativeTask<FoundDocument | undefined>): Promise<FoundDocument | undefined> {
    try {
      const reading = runCooperatively(read());
      const found = reading instanceof Promise ? await reading : reading;
      if (found?.type === 'document' && this.#hasContentToCheck(found.document.rev)) {
        const { attachments = {} } = await runCooperatively(readDocumentText(found.document.text));
        await checkInline(attachments, this.wanted.stubs ?? []);
      }
      return found;
    } catch (failure) {
      if (!(failure instanceof SyntaxError || failure instanceof ContentMismatch)) throw failure;
      this.#problem = failure instanceof ContentMismatch ? failure.reason : failure.message;
      return undefined;
    }
  }

  /** The stubs are for the one wanted revision. For another one the caller has to read the stubs first. */
  #hasContentToCheck(rev: string): boolean {
    return this.wanted.stubs !== undefined && this.revs.has(rev);
  }
}

/**
 * Returns the attachments of a document that arrived without their content, with those that the target lacks marked. Undefined if it has none. `since`: revisions that the target has. Throws `SyntaxError` if an entry is malformed: the
 * content is checked against it.
 */
function* readStubs(document: ReadDocument, since: readonly string[]): CooperativeTask<readonly Stub[] | undefined> {
  const entries = Object.entries(document.attachments ?? {});
  if (entries.length === 0) return undefined;
  const known = Math.max(0, ...since.filter((rev) => descendsFrom(document, rev)).map(generationOf));
  return yield* mapInSteps(entries, ([name, entry]) => readStub(name, entry, known));
}

function readStub(name: string, entry: unknown, known: number): Stub {
  if (!isObject(entry)) throw malformed(name, 'is not an object');
  const { content_type: type, revpos, digest, length, encoding, stub } = entry;
  if (!isTextOrNone(type)) throw malformed(name, 'has a content_type that is not a string');
  if (!isTextOrNone(digest)) throw malformed(name, 'has a digest that is not a string');
  if (hasLoneSurrogate(name) || name === '') throw malformed(name, 'has a name that no request can have');
  // A stub that doesn't say when it was written may be newer than anything. Content that was not requested is not accepted unchecked.
  const isMissing = typeof revpos !== 'number' || revpos > known || stub !== true;
  return {
    name,
    length: lengthOf(name, entry, length),
    digest,
    isEncoded: encoding !== undefined && encoding !== 'identity',
    entry: { content_type: type, revpos: typeof revpos === 'number' ? revpos : undefined, digest },
    isMissing,
  };
}

function isTextOrNone(value: unknown): value is string | undefined {
  return value === undefined || typeof value === 'string';
}

function lengthOf(name: string, { data }: JsonObject, length: unknown): number {
  if (typeof length === 'number' && Number.isSafeInteger(length) && length >= 0) return length;
  // From a peer that sends content instead of stubs.
  if (length === undefined && typeof data === 'string') return Math.floor((data.replace(/=+$/, '').length * 3) / 4);
  throw malformed(name, `has a length of ${JSON.stringify(length)?.slice(0, 100)}`);
}

function malformed(name: string, what: string): SyntaxError {
  return new SyntaxError(`its attachment ${JSON.stringify(name)} ${what}`);
}

/** What was requested, and its revisions as a set: there may be very many. */
interface Asked {
  readonly wanted: WantedDocument;
  readonly revs: ReadonlySet<string>;
}

/**
 * Checks a document in a peer's response against the request. Throws `SyntaxError`, which says why, if it is another document, a
 * revision that was not requested and descends from none that was, or not a document that a replicator can use.
 */
export function* foundDocument(
  text: string,
  { wanted, revs }: Asked,
  hasContent: boolean,
): CooperativeTask<FoundDocument> {
  const document = yield* readDocumentText(text);
  const { id, rev } = document;
  if (id !== wanted.id) throw new SyntaxError(`it is the document ${JSON.stringify(id)}`);
  const settles = revisionsAmong(document, revs);
  if (settles.length === 0) throw new SyntaxError(`it is revision ${rev}, which descends from no requested revision`);
  const stubs = hasContent ? undefined : yield* readStubs(document, wanted.since);
  return { type: 'document', document: { id, rev, text }, wanted, settles, stubs };
}

/** Returns a revision that the peer says it lacks, or can't return. */
export function refusedDocument(id: string, rev: string, error: string, reason: string): FoundDocument {
  return { type: 'refused', refused: { id, rev, error, reason }, settles: [rev] };
}
