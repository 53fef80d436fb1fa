/**
 * Writes revisions unchanged with `_bulk_docs` (docs/http/bulk.md#bulk-writes), in requests of a bounded length, which is reduced when the peer
 * reports that it is too much. A request refused as a whole is sent again in halves, until the document that causes it is found.
 */

import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import type { RefusedDocument } from '../../contract.ts';
import { ledgerReason, ReplicationError } from '../../failure.ts';
import { SHORT_ANSWER } from '../client/answer.ts';
import type { PeerClient } from '../client/peer-client.ts';
import type { DocumentText } from '../contract.ts';

/** Characters of one request. */
const MAX_LENGTH = 4_194_304;
const MISSING_STUB = 412;
const TOO_LARGE = 413;
const MIN_LENGTH = 16_384;
/** Retries of each part of a batch that the peer could not write: the whole batch has had all of them. */
const RETRIES_OF_PARTS = 2;
/** Statuses that concern the documents: any one of them may be the cause. */
const OF_DOCUMENTS: readonly number[] = [400, MISSING_STUB, TOO_LARGE, 415, 417, 422];
/** Those of them that concern a document's content. */
const OF_CONTENT: readonly number[] = [MISSING_STUB, TOO_LARGE];

export class DocumentWriter {
  readonly #client: PeerClient;
  #mostLength = MAX_LENGTH;
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
    try {
      return await this.#tryBatch(batch);
    } catch (failure) {
      if (!(await this.#isOfDocuments(failure))) throw failure;
      const culprits: RefusedDocument[] = [];
      const refused = await this.#findCulprits(batch, culprits);
      // If each document fails by itself, none of them is the cause.
      if (batch.length > 1 && culprits.length === batch.length) throw failure;
      return refused;
    }
  }

  /** Whether the peer fails on a document, or an intermediary refuses it: a write without any is accepted. */
  async #isOfDocuments(failure: unknown): Promise<boolean> {
    const client = this.#client;
    if (client.isLocal || !(failure instanceof ReplicationError) || failure.suspect !== client.name) return false;
    try {
      const outcome = await writeBulk(client, [], 0);
      return outcome !== 'unclear' && !isRefusal(outcome);
    } catch (second) {
      if (client.isEnded || !(second instanceof ReplicationError)) throw second;
      return false;
    }
  }

  /** Writes the parts of a batch, down to the documents that can't be written, which it adds to `culprits`. */
  async #findCulprits(
    batch: readonly DocumentText[],
    culprits: RefusedDocument[],
  ): Promise<readonly RefusedDocument[]> {
    try {
      return await this.#tryBatch(batch, Math.min(RETRIES_OF_PARTS, this.#client.retriesPerRequest));
    } catch (failure) {
      const [first] = batch;
      if (!(failure instanceof ReplicationError) || failure.suspect !== this.#client.name) throw failure;
      if (first === undefined || batch.length > 1) {
        const half = Math.ceil(batch.length / 2);
        const refused = await this.#findCulprits(batch.slice(0, half), culprits);
        return [...refused, ...(await this.#findCulprits(batch.slice(half), culprits))];
      }
      if (!(await this.#isOfDocuments(failure))) throw failure;
      const culprit = { id: first.id, rev: first.rev, ...ledgerReason(failure) };
      culprits.push(culprit);
      return [culprit];
    }
  }

  async #tryBatch(batch: readonly DocumentText[], retries?: number): Promise<readonly RefusedDocument[]> {
    const outcome = await writeBulk(this.#client, batch, retries);
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
      const told = `${this.#client.name} accepts no documents at all: it returned ${status} ${error}: ${reason}`;
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
    this.#mostLength = Math.max(MIN_LENGTH, Math.min(this.#mostLength, Math.floor(length / 2)));
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
  return { id, rev, error: 'too_large', reason: 'the document is larger than the target accepts' };
}

/** Maximum characters of a row: it may explain at length why a document was refused. */
const MAX_ROW_LENGTH = 16_384;

/** The peer accepted none of the documents, because of one of them or because of all. */
interface BatchRefusal {
  readonly status: number;
  readonly error: string;
  readonly reason: string;
}

/**
 * Returns the documents that were refused, or why all were; `unclear` if the peer's refusal can't be assigned to a document: then
 * each has to be written by itself.
 */
export function writeBulk(
  client: PeerClient,
  documents: readonly DocumentText[],
  retries = client.retriesPerRequest,
): Promise<readonly RefusedDocument[] | BatchRefusal | 'unclear'> {
  const body = `{"new_edits":false,"docs":[${documents.map(({ text }) => text).join(',')}]}`;
  // Checkpoints make everything before them durable.
  const headers = { 'x-couch-full-commit': 'false' };
  const request = { method: 'POST', path: '/_bulk_docs', headers, body, retries, accepts: OF_DOCUMENTS };
  return client.ask(request, async (answer) => {
    const { status } = answer;
    if (status >= 300) return { status, ...(await answer.refusal()) };
    const rows = await answer.json(SHORT_ANSWER + documents.length * MAX_ROW_LENGTH);
    if (!Array.isArray(rows)) throw answer.unusable('it is not a list');
    if (rows.length > documents.length) throw answer.unusable(`it has more than ${documents.length} rows`);
    if (!rows.every(isObject)) throw answer.unusable('a row is not an object');
    return readRows(rows, documents);
  });
}

function readRows(
  rows: readonly JsonObject[],
  documents: readonly DocumentText[],
): readonly RefusedDocument[] | 'unclear' {
  const refused = new Map<DocumentText, RefusedDocument>();
  for (const row of rows) {
    const refusal = refusalOf(row, documents);
    if (refusal === undefined) continue;
    const document = documentOf(row, documents);
    if (document === undefined) return 'unclear';
    const { id, rev } = document;
    refused.set(document, { id, rev, ...refusal });
  }
  return [...refused.values()];
}

/** Undefined for a row of a document that was written unchanged. */
function refusalOf({ id, rev, error, reason, ok = true }: JsonObject, documents: readonly DocumentText[]) {
  if (error !== undefined) return { error: textOf(error), reason: textOf(reason) };
  if (ok !== true) return { error: 'bad_answer', reason: 'the target does not say that it wrote it' };
  const revs = documents.filter((one) => one.id === id).map((one) => one.rev);
  const isOther = typeof rev === 'string' && revs.length > 0 && !revs.includes(rev);
  return isOther ? { error: 'bad_answer', reason: `the target says that it wrote it as revision ${rev}` } : undefined;
}

/** Returns the row's document. Not all servers name the revision, and some not the id. */
function documentOf({ id, rev }: JsonObject, documents: readonly DocumentText[]): DocumentText | undefined {
  if (documents.length === 1) return documents[0];
  const [first, ...more] = documents.filter((document) => document.id === id);
  return more.length === 0 ? first : [first, ...more].find((document) => document?.rev === rev);
}

/** Functions may refuse with any JSON value. */
function textOf(reason: unknown): string {
  return typeof reason === 'string' ? reason : (JSON.stringify(reason) ?? '');
}
