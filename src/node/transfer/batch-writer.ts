import { type Refusal, RefusalError, type RemoteDatabase } from './remote-database.ts';

/** The most characters of documents in one request, unless a single document is longer. */
const batchLength = 4 * 1024 * 1024;
/** Requests that run at the same time: one is sent while the server writes another. */
const batchesInFlight = 3;

interface BatchWriterOptions {
  readonly database: RemoteDatabase;
  readonly newEdits: boolean;
  readonly batchSize: number;
  readonly onRefused: (refusal: Refusal) => void;
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
  #batch: string[] = [];
  #length = 0;
  #failure: { readonly error: unknown } | undefined;
  #hasReportedSplit = false;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
  }

  /** Resolves when the next document may be added. */
  async add(document: string): Promise<void> {
    if (this.#length + document.length > batchLength) await this.#send();
    this.#batch.push(document);
    this.#length += document.length;
    if (this.#batch.length >= this.#options.batchSize) await this.#send();
  }

  /** Sends what is left and waits for every answer. */
  async flush(): Promise<void> {
    await this.#send();
    await Promise.all(this.#inFlight);
    if (this.#failure) throw this.#failure.error;
  }

  async #send(): Promise<void> {
    while (this.#inFlight.size >= batchesInFlight) await Promise.race(this.#inFlight);
    if (this.#failure) throw this.#failure.error;
    if (this.#batch.length === 0) return;
    const sending: Promise<void> = this.#write(this.#batch)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#inFlight.delete(sending));
    this.#inFlight.add(sending);
    this.#batch = [];
    this.#length = 0;
  }

  async #write(documents: readonly string[]): Promise<void> {
    const { database, newEdits, onRefused } = this.#options;
    try {
      const refused = await database.write(documents, newEdits);
      this.written += documents.length - refused.length;
      refused.forEach(onRefused);
    } catch (error) {
      if (!isAboutDocuments(error)) throw error;
      if (documents.length === 1) onRefused({ id: idOf(documents[0]), error: error.error, reason: error.reason });
      else await this.#writeHalves(documents, error);
    }
  }

  /** An invalid document has the whole request refused, and nothing written (docs/http.md#bulk-writes). */
  async #writeHalves(documents: readonly string[], error: RefusalError): Promise<void> {
    if (!this.#hasReportedSplit) this.#options.onSplit(error.message.replace(/\.?$/, '.'));
    this.#hasReportedSplit = true;
    const middle = documents.length >> 1;
    await this.#write(documents.slice(0, middle));
    await this.#write(documents.slice(middle));
  }
}

function isAboutDocuments(error: unknown): error is RefusalError {
  return error instanceof RefusalError && [400, 412, 413, 415].includes(error.status);
}

function idOf(document: string | undefined): string | null {
  return /"_id"\s*:\s*"([^"\\]*)"/.exec(document?.slice(0, 10_000) ?? '')?.[1] ?? null;
}
