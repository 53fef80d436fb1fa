/**
 * Reads documents from a peer in the best way that it supports: with `_bulk_get`, or else one by one with `open_revs`
 * (docs/http/documents.md#open-revisions).
 */

import { JsonCursor } from '../../../base/json/json-cursor.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import { ledgerReason, ReplicationError } from '../../failure.ts';
import type { Answer } from '../client/answer.ts';
import type { PeerClient } from '../client/peer-client.ts';
import { mostElements, readElements } from '../client/streamed-answers.ts';
import type { FoundDocument, WantedDocument } from '../contract.ts';
import { documentPath, isAddressable, queryText } from '../identifiers.ts';
import { contentParameters, type ReadOptions, readByBulkGet } from './bulk-get.ts';
import { foundDocument, refusedDocument, Settled } from './requested-document.ts';

/** Documents that are read at the same time, one by one. */
const SINGLE_READS = 8;

type TakeFound = (found: FoundDocument) => Promise<void>;

/** A way that the peer does not support is not tried again. */
export class DocumentReader {
  readonly #client: PeerClient;
  #hasBulkGet = true;
  /** It has worked: a later failure is that of a document. */
  #hasReadInBulk = false;
  readonly #singles: SingleReads;

  constructor(client: PeerClient) {
    this.#client = client;
    this.#singles = new SingleReads(client);
  }

  async read(wanted: readonly WantedDocument[], options: ReadOptions, take: TakeFound): Promise<void> {
    if (!this.#hasBulkGet) return this.#readSingly(wanted, options, take, wanted.length);
    const { isSupported, left } = await readByBulkGet(this.#client, wanted, options, take);
    this.#hasReadInBulk ||= isSupported;
    this.#hasBulkGet = this.#hasReadInBulk;
    // One by one, so that an unreadable document holds no other back.
    if (left.length > 0) await this.#readSingly(left, options, take, wanted.length);
  }

  /** `count`: of the documents that were wanted at first. */
  async #readSingly(
    wanted: readonly WantedDocument[],
    options: ReadOptions,
    take: TakeFound,
    count: number,
  ): Promise<void> {
    const left = [...wanted];
    const unreadable: Unreadable[] = [];
    const readNext = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        const failed = await this.#singles.read(next, options, take);
        if (failed !== undefined) unreadable.push(failed);
      }
    };
    await Promise.all(Array.from({ length: SINGLE_READS }, readNext));
    const [first] = unreadable;
    // If not one of several can be read, none of them is the cause.
    if (first !== undefined && count > 1 && unreadable.length === count) throw first.failure;
    for (const { document, failure } of unreadable) {
      const { error, reason } = ledgerReason(failure);
      await refuseAll(document, error, reason, take);
    }
  }
}

/** Maximum revisions in an address: servers bound its length. */
const REVS_PER_REQUEST = 50;
/** Unusable responses until the revision is refused: some are cut short on the way, with an end as if they were whole. */
const MAX_USELESS = 3;
const PAUSE_MS = 100;
/** Retries for the documents of a source that has others that can't be read: otherwise many of them would take very long. */
const RETRIES_OF_MORE = 2;
/** Statuses that concern the one document whose revisions are requested. */
const OF_DOCUMENT: readonly number[] = [400, 413, 414, 422];
/** The error for a revision that the peer neither returns nor reports as missing. */
const BAD_ANSWER = 'bad_answer';

/** A document on which the source fails, while it responds to other requests. */
interface Unreadable {
  /** With the revisions that did not arrive. */
  readonly document: WantedDocument;
  readonly failure: ReplicationError;
}

/** Reads documents one by one with their open revisions. */
class SingleReads {
  readonly #client: PeerClient;
  /** A document could not be read, however often it was requested. */
  #hasUnreadable = false;

  constructor(client: PeerClient) {
    this.#client = client;
  }

  /** Settles all wanted revisions: those that do not arrive are passed as refused. Returns what is left if the source fails on the document. */
  async read(wanted: WantedDocument, options: ReadOptions, take: TakeFound): Promise<Unreadable | undefined> {
    if (!isAddressable(wanted.id)) {
      const reason = 'the source returned it in no list, and its id cannot be part of a URL';
      await refuseAll(wanted, BAD_ANSWER, reason, take);
      return undefined;
    }
    for (let from = 0; from < wanted.revs.length; from += REVS_PER_REQUEST) {
      const revs = wanted.revs.slice(from, from + REVS_PER_REQUEST);
      const failed = await this.#readRevisions({ ...wanted, revs }, options, take);
      if (failed === undefined) continue;
      const { document, failure } = failed;
      return {
        document: { ...document, revs: [...document.revs, ...wanted.revs.slice(from + REVS_PER_REQUEST)] },
        failure,
      };
    }
    return undefined;
  }

  async #readRevisions(wanted: WantedDocument, options: ReadOptions, take: TakeFound): Promise<Unreadable | undefined> {
    // What arrived before a response was cut off is not requested again.
    const settled = new Settled(wanted, take);
    try {
      const refusal = await this.#request(settled, options);
      const { problem = 'it is not in the response' } = settled;
      const unusable = { error: BAD_ANSWER, reason: `the source does not return what was requested: ${problem}` };
      const { error, reason } = refusal ?? unusable;
      await refuseAll(settled.left, error, reason, take);
    } catch (failure) {
      if (!(failure instanceof ReplicationError)) throw failure;
      // A missing database fails with another code.
      if (failure.code === 'not_found') await refuseAll(settled.left, 'not_found', 'missing', take);
      else if (!(await this.#client.isOfRequest(failure))) throw failure;
      else {
        this.#hasUnreadable = true;
        return { document: settled.left, failure };
      }
    }
    return undefined;
  }

  /** Returns why the document is refused; undefined if all arrived that will. */
  async #request(settled: Settled, options: ReadOptions) {
    const client = this.#client;
    const request = () => ({
      method: 'GET',
      path: pathOf(settled.left, options),
      names: `document ${settled.wanted.id}`,
      accepts: OF_DOCUMENT,
      ...(this.#hasUnreadable ? { retries: Math.min(RETRIES_OF_MORE, client.retriesPerRequest) } : {}),
    });
    for (let answers = 0; !settled.isDone && answers < MAX_USELESS; answers++) {
      if (answers > 0) await client.pause(PAUSE_MS * answers);
      const refusal = await client.ask(request, async (answer) => {
        if (answer.status >= 300) return answer.refusal();
        return readList(answer, settled, options);
      });
      if (refusal !== undefined) return refusal;
    }
    return undefined;
  }
}

async function refuseAll({ id, revs }: WantedDocument, error: string, reason: string, take: TakeFound): Promise<void> {
  for (const rev of revs) await take(refusedDocument(id, rev, error, reason));
}

function pathOf(wanted: WantedDocument, options: ReadOptions): string {
  const own = { revs: 'true', latest: 'true', open_revs: JSON.stringify(wanted.revs), ...contentParameters(options) };
  const since = options.attachments && wanted.since.length > 0 ? JSON.stringify(wanted.since) : undefined;
  return `${documentPath(wanted.id)}${queryText({ ...own, atts_since: since })}`;
}

async function readList(answer: Answer, settled: Settled, options: ReadOptions): Promise<undefined> {
  const read = (element: string) => settled.take(() => readElement(element, settled, options));
  await readElements(answer, { member: '', most: mostElements(settled.wanted.revs.length) }, read);
}

/** `{"ok":…}` or `{"missing":rev}` */
function* readElement(
  text: string,
  asked: Settled,
  { attachments }: ReadOptions,
): CooperativeTask<FoundDocument | undefined> {
  const cursor = new JsonCursor(text);
  cursor.enter();
  while (yield* cursor.nextMemberInSteps()) {
    if (cursor.name === 'ok') return yield* foundDocument(cursor.valueText, asked, attachments);
    if (cursor.name !== 'missing') continue;
    const rev: unknown = JSON.parse(cursor.valueText);
    const isWanted = typeof rev === 'string' && asked.revs.has(rev);
    return isWanted ? refusedDocument(asked.wanted.id, rev, 'not_found', 'missing') : undefined;
  }
  return undefined;
}
