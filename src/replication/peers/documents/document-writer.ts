/**
 * Writes revisions in requests of a bounded length, which is reduced when the peer reports that it is too much. A request
 * refused as a whole is sent again in halves, until the document that causes it is found.
 */
import type { RefusedDocument } from '../../contract.ts';
import { ReplicationError } from '../../failure.ts';
import type { PeerClient } from '../client/peer-client.ts';
import type { DocumentText } from '../contract.ts';
import { type BatchRefusal, TOO_LARGE, writeBulk } from './bulk-docs.ts';

/** Characters of one request. */
const MOST_LENGTH = 4_194_304;
const MISSING_STUB = 412;
const LEAST_LENGTH = 16_384;
/** Of the statuses that concern documents, those that concern a document's content. */
const OF_CONTENT: readonly number[] = [MISSING_STUB, TOO_LARGE];

export class DocumentWriter {
  readonly #client: PeerClient;
  #mostLength = MOST_LENGTH;
  #takesSome = false;

  constructor(client: PeerClient) {
    this.#client = client;
  }

  /** Returns those that were refused. */
  async write(documents: readonly DocumentText[]): Promise<readonly RefusedDocument[]> {
    const refused: RefusedDocument[] = [];
    for (const batch of this.#batches(documents)) refused.push(...(await this.#writeBatch(batch)));
    return refused;
  }

  *#batches(documents: readonly DocumentText[]): Generator<DocumentText[], void, void> {
    let batch: DocumentText[] = [];
    let length = 0;
    for (const document of documents) {
      if (batch.length > 0 && length + document.text.length > this.#mostLength) {
        yield batch;
        batch = [];
        length = 0;
      }
      batch.push(document);
      length += document.text.length;
    }
    if (batch.length > 0) yield batch;
  }

  async #writeBatch(batch: readonly DocumentText[]): Promise<readonly RefusedDocument[]> {
    const outcome = await writeBulk(this.#client, batch);
    if (outcome === 'unclear') return this.#writeHalves(batch);
    if (!isRefusal(outcome)) return outcome;
    const [first] = batch;
    if (first !== undefined && batch.length === 1) {
      await this.#assertTakesOthers(outcome);
      return [refusedAlone(first, outcome)];
    }
    if (outcome.status === TOO_LARGE) this.#takeLess(batch);
    if (outcome.status === MISSING_STUB && batch.some(({ text }) => mayHaveStubs(text)))
      return this.#writeStubsAlone(batch);
    return this.#writeHalves(batch);
  }

  async #writeHalves(batch: readonly DocumentText[]): Promise<readonly RefusedDocument[]> {
    const half = Math.ceil(batch.length / 2);
    return [...(await this.#writeBatch(batch.slice(0, half))), ...(await this.#writeBatch(batch.slice(half)))];
  }

  /** Checks whether the peer refused the document, or refuses everything, which then fails. Checked once. */
  async #assertTakesOthers({ status, error, reason }: BatchRefusal): Promise<void> {
    if (this.#takesSome || OF_CONTENT.includes(status)) return;
    const outcome = await writeBulk(this.#client, []);
    if (outcome !== 'unclear' && isRefusal(outcome)) {
      const told = `${this.#client.name} takes no documents at all: it answered ${status} ${error}: ${reason}`;
      throw new ReplicationError('replication_failed', told, { isRetryable: true });
    }
    this.#takesSome = true;
  }

  /** A document with stubs is more likely the cause. */
  async #writeStubsAlone(batch: readonly DocumentText[]): Promise<readonly RefusedDocument[]> {
    const others = batch.filter(({ text }) => !mayHaveStubs(text));
    const refused = others.length === 0 ? [] : [...(await this.#writeBatch(others))];
    for (const one of batch) if (mayHaveStubs(one.text)) refused.push(...(await this.#writeBatch([one])));
    return refused;
  }

  #takeLess(batch: readonly DocumentText[]): void {
    const length = batch.reduce((sum, { text }) => sum + text.length, 0);
    this.#mostLength = Math.max(LEAST_LENGTH, Math.min(this.#mostLength, Math.floor(length / 2)));
  }
}

function isRefusal(outcome: readonly RefusedDocument[] | BatchRefusal): outcome is BatchRefusal {
  return 'status' in outcome;
}

function mayHaveStubs(text: string): boolean {
  return text.includes('"_attachments"');
}

function refusedAlone({ id, rev }: DocumentText, { status, error, reason }: BatchRefusal): RefusedDocument {
  if (status !== TOO_LARGE || reason !== '') return { id, rev, error, reason };
  return { id, rev, error: 'too_large', reason: 'the document is larger than the target takes' };
}
