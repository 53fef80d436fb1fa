/**
 * Copies documents whose attachments the target lacks. Short ones come inside of the documents, many in one request; long ones are written
 * while they are read, one document at a time, so that they are never held.
 */
import type { RandomBytes } from '../../shared/clock.ts';
import { ReplicationError } from '../failure.ts';
import { ConnectionLimit } from '../peers/asking/connection-limit.ts';
import { backOffMs, LONGEST_PAUSE_MS, sleep } from '../peers/asking/waiting.ts';
import type { AttachedDocument, FoundDocument, Peer, RelatedRefusal, WantedDocument } from '../peers/contract.ts';
import type { Ends } from './common-checkpoint.ts';
import type { Figures } from './figures.ts';

export interface AttachedDocumentsOptions {
  readonly peers: Ends<Peer>;
  readonly figures: Figures;
  readonly retries: number;
  readonly random: RandomBytes;
  readonly signal: AbortSignal;
}

/** Documents whose missing attachments are no longer than that together have them inside. */
const SHORT_BYTES = 65_536;
/** Bytes of short attachments that are asked for in one request. */
const REQUEST_BYTES = 1_048_576;
/** Of targets that take no documents with attachments behind them. */
const LONGEST_INSIDE = 33_554_432;
const LONG_AT_ONCE = 3;

type TakeFound = (found: FoundDocument) => Promise<void>;

export class AttachedDocuments {
  readonly #options: AttachedDocumentsOptions;
  readonly #long = new ConnectionLimit(LONG_AT_ONCE);
  #targetTakesRelated = true;

  constructor(options: AttachedDocumentsOptions) {
    this.#options = options;
  }

  /** Resolves when all are written or refused. Those that have their attachments inside are given to `take`. */
  async copy(documents: readonly AttachedDocument[], take: TakeFound): Promise<void> {
    const short: AttachedDocument[] = [];
    const long: AttachedDocument[] = [];
    for (const one of documents) (missingBytes(one) <= SHORT_BYTES ? short : long).push(one);
    for (const some of bySize(short)) await this.#copyInside(some, take);
    await Promise.all(long.map((one) => this.#copyLong(one, take)));
  }

  #copyInside(documents: readonly AttachedDocument[], take: TakeFound): Promise<void> {
    return this.#options.peers.source.documents(documents.map(toWanted), { attachments: true }, take);
  }

  async #copyLong(document: AttachedDocument, take: TakeFound): Promise<void> {
    await this.#long.acquire();
    try {
      const { signal, retries, random } = this.#options;
      for (let failures = 0; ; ) {
        signal.throwIfAborted();
        try {
          return await this.#transfer(document, take);
        } catch (failure) {
          if (failure instanceof ReplicationError && failure.code === 'not_found') return this.#noteGone(document);
          failures++;
          if (!mayPassSoon(failure) || failures > retries) throw failure;
          await sleep(backOffMs(failures, random), signal);
        }
      }
    } finally {
      this.#long.release();
    }
  }

  async #transfer(document: AttachedDocument, take: TakeFound): Promise<void> {
    const { figures, peers } = this.#options;
    if (!this.#targetTakesRelated) return this.#copyInsideIfPossible(document, take);
    const outcome = await peers.source.readRelated(document, async ({ type, chunks }) => {
      const refusal = await peers.target.writeRelated(document.document, { type, chunks: counted(chunks, figures) });
      return { refusal };
    });
    await this.#note(document, outcome.refusal, take);
  }

  #noteGone({ document }: AttachedDocument): void {
    const { id, rev } = document;
    this.#options.figures.refuse({ id, rev, error: 'not_found', reason: 'missing' });
  }

  async #note(document: AttachedDocument, refusal: RelatedRefusal | undefined, take: TakeFound): Promise<void> {
    const { figures } = this.#options;
    if (refusal?.isOfForm === true) {
      this.#targetTakesRelated = false;
      return this.#copyInsideIfPossible(document, take);
    }
    const { since } = document;
    // The target has not what its revisions made one expect: it gets all attachments.
    if (refusal?.refused.error === 'missing_stub' && since.length > 0) {
      return this.#transfer(withAll(document), take);
    }
    figures.add({ docsRead: 1, docsWritten: refusal === undefined ? 1 : 0 });
    if (refusal !== undefined) figures.refuse(refusal.refused);
  }

  async #copyInsideIfPossible(document: AttachedDocument, take: TakeFound): Promise<void> {
    if (missingBytes(document) <= LONGEST_INSIDE) return this.#copyInside([document], take);
    const { id, rev } = document.document;
    const reason = 'the target takes attachments inside of documents only, and these are too long for that';
    this.#options.figures.refuse({ id, rev, error: 'too_large', reason });
  }
}

/** Not where a peer wants to be left alone for long. A shorter pause is made before the next request. */
function mayPassSoon(failure: unknown): boolean {
  return failure instanceof ReplicationError && failure.mayPass && (failure.retryAfterMs ?? 0) <= LONGEST_PAUSE_MS;
}

/** As if the target had none of its revisions. */
export function withAll({ document, stubs }: AttachedDocument): AttachedDocument {
  return { document, stubs: stubs.map((stub) => ({ ...stub, isMissing: true })), since: [] };
}

function toWanted({ document, since }: AttachedDocument): WantedDocument {
  return { id: document.id, revs: [document.rev], since };
}

function missingBytes({ stubs }: AttachedDocument): number {
  return stubs.reduce((sum, { isMissing, length }) => sum + (isMissing ? length : 0), 0);
}

/** One revision of a document at a time, since answers are told apart by ids. */
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

async function* counted(chunks: AsyncIterable<Uint8Array>, figures: Figures): AsyncGenerator<Uint8Array, void, void> {
  for await (const chunk of chunks) {
    figures.add({ bytesRead: chunk.length });
    yield chunk;
    figures.add({ bytesWritten: chunk.length });
  }
}
