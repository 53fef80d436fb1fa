import { ABOUT_DOCUMENTS, ABOUT_ONE_DOCUMENT, Batch, sendBisecting } from '../../packages/transfer/bulk-writes.ts';
import { stringMember } from './document-text.ts';
import { type Refusal, RefusalError, type RemoteDatabase } from './remote-database.ts';

/** The most characters of documents in one request, unless a single document is longer. */
const batchLength = 4 * 1024 * 1024;
/** Requests that run at the same time: one is sent while the server writes another. */
const batchesInFlight = 3;

/** A document of the input. */
export interface InputDocument {
  /** 1 for the first element. */
  readonly place: number;
  readonly text: string;
}

/** An element of the input that was not written. */
export interface InputRefusal extends Refusal {
  readonly place: number;
  readonly id: string | null;
}

interface BatchWriterOptions {
  readonly database: RemoteDatabase;
  readonly newEdits: boolean;
  readonly batchSize: number;
  readonly onRefused: (refusal: InputRefusal) => void;
  /** Called once, when a batch was refused as a whole and is sent again in parts. */
  readonly onSplit: (reason: string) => void;
}

/**
 * Sends documents in batches, a few at a time. The first failure that is not about documents (no such database, no
 * connection) stops it: from then on `add` and `flush` reject with it.
 */
export class BatchWriter {
  written = 0;
  readonly #options: BatchWriterOptions;
  readonly #inFlight = new Set<Promise<void>>();
  readonly #batch: Batch<InputDocument>;
  #failure: { readonly error: unknown } | undefined;
  #hasReportedSplit = false;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
    this.#batch = new Batch(options.batchSize, batchLength);
  }

  /** Resolves when the next document may be added. */
  async add(document: InputDocument): Promise<void> {
    if (this.#batch.isFullFor(document)) await this.#send();
    this.#batch.add(document);
    if (this.#batch.isFull) await this.#send();
  }

  /** Sends a document alone; `send` returns the reason if it did not. Resolves when the next document may be added. */
  async addAlone(document: InputDocument, send: () => Promise<Refusal | undefined>): Promise<void> {
    await this.#start(async () => {
      const refusal = await send().catch((error: unknown) => {
        if (error instanceof RefusalError && ABOUT_ONE_DOCUMENT.has(error.status)) return error;
        throw error;
      });
      if (refusal === undefined) this.written++;
      else this.#refuse(document, refusal);
    });
  }

  /** Sends what is left and waits for every response. */
  async flush(): Promise<void> {
    await this.#send();
    await Promise.all(this.#inFlight);
    if (this.#failure) throw this.#failure.error;
  }

  async #send(): Promise<void> {
    const batch = this.#batch.take();
    if (batch.length > 0) await this.#start(() => this.#write(batch));
  }

  /** Waits for its turn, and starts the work. */
  async #start(work: () => Promise<void>): Promise<void> {
    while (this.#inFlight.size >= batchesInFlight) await Promise.race(this.#inFlight);
    if (this.#failure) throw this.#failure.error;
    const running: Promise<void> = work()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#inFlight.delete(running));
    this.#inFlight.add(running);
  }

  #write(documents: readonly InputDocument[]): Promise<void> {
    const { database, newEdits } = this.#options;
    return sendBisecting(documents, {
      send: async (some) => {
        const refused = await database.write(some, newEdits);
        this.written += some.length - refused.size;
        for (const [index, document] of some.entries()) this.#refuse(document, refused.get(index));
      },
      isAboutDocuments: (error) => error instanceof RefusalError && ABOUT_DOCUMENTS.has(error.status),
      refuse: (document, error) => this.#refuse(document, error instanceof RefusalError ? error : undefined),
      onSplit: (error) => this.#reportSplit(error),
    });
  }

  #refuse({ place, text }: InputDocument, refusal: Refusal | undefined): void {
    if (refusal === undefined) return;
    const { error, reason } = refusal;
    this.#options.onRefused({ place, id: stringMember(text, '_id'), error, reason });
  }

  #reportSplit(error: unknown): void {
    if (!this.#hasReportedSplit && error instanceof RefusalError)
      this.#options.onSplit(error.message.replace(/\.?$/, '.'));
    this.#hasReportedSplit = true;
  }
}
