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

/**
 * Statuses of a batch for which one of its documents may be the cause. With any other the server says that it can't take documents at
 * all, or that something is broken.
 */
const ABOUT_DOCUMENTS: ReadonlySet<number> = new Set([400, 409, 412, 413, 414, 415, 417, 422, 501]);

/** The same for a document that is sent alone: an error of a validation function is then a status. */
const ABOUT_ONE_DOCUMENT: ReadonlySet<number> = new Set([...ABOUT_DOCUMENTS, 401, 403]);

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
  #batch: InputDocument[] = [];
  #length = 0;
  #failure: { readonly error: unknown } | undefined;
  #hasReportedSplit = false;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
  }

  /** Resolves when the next document may be added. */
  async add(document: InputDocument): Promise<void> {
    const { length } = document.text;
    if (this.#length + length > batchLength && this.#batch.length > 0) await this.#send();
    this.#batch.push(document);
    this.#length += length;
    if (this.#batch.length >= this.#options.batchSize) await this.#send();
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
    if (this.#batch.length > 0) await this.#send();
    await Promise.all(this.#inFlight);
    if (this.#failure) throw this.#failure.error;
  }

  async #send(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#length = 0;
    await this.#start(() => this.#write(batch));
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

  async #write(documents: readonly InputDocument[]): Promise<void> {
    const { database, newEdits } = this.#options;
    try {
      const texts = documents.map(({ text }) => text);
      const refused = await database.write(texts, newEdits);
      this.written += documents.length - refused.size;
      for (const [index, document] of documents.entries()) this.#refuse(document, refused.get(index));
    } catch (error) {
      if (!(error instanceof RefusalError && ABOUT_DOCUMENTS.has(error.status))) throw error;
      const [document, ...others] = documents;
      if (document !== undefined && others.length === 0) this.#refuse(document, error);
      else await this.#writeHalves(documents, error);
    }
  }

  #refuse({ place, text }: InputDocument, refusal: Refusal | undefined): void {
    if (refusal === undefined) return;
    const { error, reason } = refusal;
    this.#options.onRefused({ place, id: stringMember(text, '_id'), error, reason });
  }

  /** The whole request is refused because of an invalid document, and nothing written (docs/http/bulk.md#bulk-writes). */
  async #writeHalves(documents: readonly InputDocument[], error: RefusalError): Promise<void> {
    if (!this.#hasReportedSplit) this.#options.onSplit(error.message.replace(/\.?$/, '.'));
    this.#hasReportedSplit = true;
    const middle = documents.length >> 1;
    await this.#write(documents.slice(0, middle));
    await this.#write(documents.slice(middle));
  }
}
