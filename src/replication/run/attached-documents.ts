/**
 * Copies documents whose attachments the target lacks. Short ones come inline in the documents, many in one request; long ones are written
 * while they are read, one document at a time, so that they are never held in memory.
 */
import type { RandomBytes } from '../../base/shared/clock.ts';
import { ledgerReason, ReplicationError } from '../failure.ts';
import { backOffMs, ConnectionLimit, MAX_PAUSE_MS, sleep } from '../peers/client/pacing.ts';
import type { AttachedDocument, Ends, FoundDocument, RelatedRefusal, WantedDocument } from '../peers/contract.ts';
import { ContentMismatch } from '../peers/documents/content-check.ts';
import type { Peer } from '../peers/peer.ts';
import type { ReplicationStats } from './replication-stats.ts';

export interface AttachedDocumentsOptions {
  readonly peers: Ends<Peer>;
  readonly figures: ReplicationStats;
  readonly retries: number;
  readonly random: RandomBytes;
  readonly signal: AbortSignal;
}

/** Documents whose missing attachments are together no longer than this have them inline. */
const SHORT_BYTES = 65_536;
/** Bytes of short attachments in one request. */
const REQUEST_BYTES = 1_048_576;
/** For targets that accept no documents followed by attachments. */
const MAX_INSIDE_LENGTH = 33_554_432;
const LONG_AT_ONCE = 3;
/** Attempts for content that does not match the stubs: some is cut short on the way, with an end as if it were whole. */
const MAX_USELESS = 3;

type TakeFound = (found: FoundDocument) => Promise<void>;

export class AttachedDocuments {
  readonly #options: AttachedDocumentsOptions;
  readonly #long = new ConnectionLimit(LONG_AT_ONCE);
  #targetTakesRelated = true;

  constructor(options: AttachedDocumentsOptions) {
    this.#options = options;
  }

  /** Resolves when all are written or refused. Those with inline attachments are passed to `take`. */
  async copy(documents: readonly AttachedDocument[], take: TakeFound): Promise<void> {
    const short: AttachedDocument[] = [];
    const long: AttachedDocument[] = [];
    for (const one of documents) (missingBytes(one) <= SHORT_BYTES ? short : long).push(one);
    for (const some of bySize(short)) await this.#copyInside(some, take);
    await Promise.all(long.map((one) => this.#copyLong(one, take)));
  }

  /** They are read with the stubs that they are checked against. A newer revision has other stubs. */
  async #copyInside(documents: readonly AttachedDocument[], take: TakeFound): Promise<void> {
    const newer: AttachedDocument[] = [];
    const byId = new Map(documents.map((one) => [one.document.id, one]));
    await this.#options.peers.source.documents(documents.map(toWanted), { attachments: true }, async (found) => {
      const asked = found.type === 'document' ? byId.get(found.document.id) : undefined;
      if (asked === undefined || found.type !== 'document' || found.document.rev === asked.document.rev)
        await take(found);
      else newer.push(asked);
    });
    const reason = 'the source returns another revision when the attachments are requested, too';
    for (const one of newer)
      await this.#readAgain(one, take, new ReplicationError('replication_failed', reason, { isRetryable: true }));
  }

  async #copyLong(document: AttachedDocument, take: TakeFound): Promise<void> {
    await this.#long.acquire();
    try {
      const { signal, retries, random } = this.#options;
      for (let failures = 1; ; failures++) {
        signal.throwIfAborted();
        try {
          return await this.#transfer(document, take);
        } catch (failure) {
          if (isUseless(failure, failures)) return await this.#copyInsideIfPossible(document, take, failure);
          if (!mayPassSoon(failure) || (failures > retries && !(failure instanceof ContentMismatch))) {
            return await this.#refuseIfOfDocument(document, take, failure);
          }
          await sleep(backOffMs(failures, random), signal);
        }
      }
    } finally {
      this.#long.release();
    }
  }

  /** Fails with the failure, unless it concerns this document alone. */
  async #refuseIfOfDocument(document: AttachedDocument, take: TakeFound, failure: unknown): Promise<void> {
    const { source, target } = this.#options.peers;
    const isOfOne = (await source.isOfRequest(failure)) || (!target.isLocal && (await target.isOfRequest(failure)));
    if (!isOfOne || !(failure instanceof ReplicationError)) throw failure;
    await this.#readAgain(document, take, failure);
  }

  async #transfer(document: AttachedDocument, take: TakeFound): Promise<void> {
    const { figures, peers } = this.#options;
    if (!this.#targetTakesRelated) return this.#copyInsideIfPossible(document, take, tooLong());
    const outcome = await peers.source.readRelated(document, async ({ type, chunks }) => {
      const refusal = await peers.target.writeRelated(document.document, { type, chunks: counted(chunks, figures) });
      return { refusal };
    });
    await this.#note(document, outcome.refusal, take);
  }

  async #note(document: AttachedDocument, refusal: RelatedRefusal | undefined, take: TakeFound): Promise<void> {
    const { figures } = this.#options;
    if (refusal?.isOfForm === true) {
      this.#targetTakesRelated = false;
      return this.#copyInsideIfPossible(document, take, tooLong());
    }
    if (refusal?.mayBeOfForm === true && missingBytes(document) <= MAX_INSIDE_LENGTH)
      return this.#copyInside([document], take);
    const { since } = document;
    // The target lacks what its revisions suggest that it has: it gets all attachments.
    if (refusal?.refused.error === 'missing_stub' && since.length > 0) {
      return this.#transfer(withAll(document), take);
    }
    figures.add({ docsRead: 1, docsWritten: refusal === undefined ? 1 : 0 });
    if (refusal !== undefined) figures.refuseByTarget(refusal.refused);
  }

  /** `otherwise`: why it can't be copied if its content is too long to be held in memory. */
  async #copyInsideIfPossible(document: AttachedDocument, take: TakeFound, otherwise: ReplicationError): Promise<void> {
    if (missingBytes(document) <= MAX_INSIDE_LENGTH) return this.#copyInside([document], take);
    await this.#readAgain(document, take, otherwise);
  }

  /**
   * Reads once more a document that existed: it may have been edited, or be gone. If it is unchanged it is refused, because of
   * `otherwise`.
   */
  #readAgain({ document, since }: AttachedDocument, take: TakeFound, otherwise: ReplicationError): Promise<void> {
    const { id, rev } = document;
    const { error, reason } = ledgerReason(otherwise);
    return this.#options.peers.source.documents([{ id, revs: [rev], since }], { attachments: false }, (found) => {
      const isSame = found.type === 'document' && found.document.rev === rev;
      return take(isSame ? { type: 'refused', refused: { id, rev, error, reason }, settles: [rev] } : found);
    });
  }
}

/** Whether the document can't be read in this way, even with a retry. */
function isUseless(failure: unknown, failures: number): failure is ReplicationError {
  if (failure instanceof ContentMismatch) return failures >= MAX_USELESS;
  if (!(failure instanceof ReplicationError)) return false;
  // The peer can't do it with this document, such as with a name that it can't parse.
  return failure.code === 'not_found' || (failure.code === 'replication_failed' && !failure.isRetryable);
}

function tooLong(): ReplicationError {
  const reason = 'the target accepts attachments only inside documents, and these are too large for that';
  return new ReplicationError('too_large', reason, { isRetryable: false });
}

/** False if a peer asks for a long pause. A shorter pause is made before the next request. */
function mayPassSoon(failure: unknown): boolean {
  return failure instanceof ReplicationError && failure.isRetryable && (failure.retryAfterMs ?? 0) <= MAX_PAUSE_MS;
}

/** Returns the document as if the target had none of its revisions. */
export function withAll({ document, stubs }: AttachedDocument): AttachedDocument {
  return { document, stubs: stubs.map((stub) => ({ ...stub, isMissing: true })), since: [] };
}

function toWanted({ document, since, stubs }: AttachedDocument): WantedDocument {
  return { id: document.id, revs: [document.rev], since, stubs };
}

function missingBytes({ stubs }: AttachedDocument): number {
  return stubs.reduce((sum, { isMissing, length }) => sum + (isMissing ? length : 0), 0);
}

/** Yields one revision of a document at a time, since responses are assigned by ids. */
function* bySize(documents: readonly AttachedDocument[]): Generator<readonly AttachedDocument[], void, void> {
  let some: AttachedDocument[] = [];
  let ids = new Set<string>();
  let bytes = 0;
  for (const one of documents) {
    const more = missingBytes(one);
    if (ids.has(one.document.id) || (some.length > 0 && bytes + more > REQUEST_BYTES)) {
      yield some;
      some = [];
      ids = new Set();
      bytes = 0;
    }
    some.push(one);
    ids.add(one.document.id);
    bytes += more;
  }
  if (some.length > 0) yield some;
}

async function* counted(
  chunks: AsyncIterable<Uint8Array>,
  figures: ReplicationStats,
): AsyncGenerator<Uint8Array, void, void> {
  for await (const chunk of chunks) {
    figures.add({ bytesRead: chunk.length });
    yield chunk;
    figures.add({ bytesWritten: chunk.length });
  }
}
