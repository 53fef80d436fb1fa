/**
 * Reads documents from a peer in the best way that it supports: with `_bulk_get`, or else one by one with `open_revs`
 * (docs/http/documents.md#open-revisions).
 */

import { JsonCursor } from '../../../base/json/json-cursor.ts';
import type { CooperativeTask } from '../../../base/shared/turn.ts';
import { ReplicationError } from '../../failure.ts';
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

  constructor(client: PeerClient) {
    this.#client = client;
  }

  async read(wanted: readonly WantedDocument[], options: ReadOptions, take: TakeFound): Promise<void> {
    if (!this.#hasBulkGet) return this.#readSingly(wanted, options, take);
    const { isSupported, left } = await readByBulkGet(this.#client, wanted, options, take);
    this.#hasBulkGet &&= isSupported;
    // One by one, so that an unreadable document holds no other back.
    if (left.length > 0) await this.#readSingly(left, options, take);
  }

  async #readSingly(wanted: readonly WantedDocument[], options: ReadOptions, take: TakeFound): Promise<void> {
    const left = [...wanted];
    const readNext = async () => {
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        await readByOpenRevisions(this.#client, next, options, take);
      }
    };
    await Promise.all(Array.from({ length: SINGLE_READS }, readNext));
  }
}

/** Maximum revisions in an address: servers bound its length. */
const REVS_PER_REQUEST = 50;
/** Unusable responses until the revision is refused: some are cut short on the way, with an end as if they were whole. */
const MAX_USELESS = 3;
const PAUSE_MS = 100;
/** Statuses that concern the one document whose revisions are requested. */
const OF_DOCUMENT: readonly number[] = [400, 413, 414, 422];
/** The error for a revision that the peer neither returns nor reports as missing. */
const BAD_ANSWER = 'bad_answer';

/** Settles all wanted revisions: those that do not arrive are passed as refused. */
async function readByOpenRevisions(
  client: PeerClient,
  wanted: WantedDocument,
  options: ReadOptions,
  take: TakeFound,
): Promise<void> {
  if (!isAddressable(wanted.id)) {
    const reason = 'the source returned it in no list, and its id cannot be part of a URL';
    return refuseAll(wanted, BAD_ANSWER, reason, take);
  }
  for (let from = 0; from < wanted.revs.length; from += REVS_PER_REQUEST) {
    const revs = wanted.revs.slice(from, from + REVS_PER_REQUEST);
    await readRevisions(client, { ...wanted, revs }, options, take);
  }
}

async function readRevisions(
  client: PeerClient,
  wanted: WantedDocument,
  options: ReadOptions,
  take: TakeFound,
): Promise<void> {
  // What arrived before a response was cut off is not requested again.
  const settled = new Settled(wanted, take);
  const request = () => ({
    method: 'GET',
    path: pathOf(settled.left, options),
    names: `document ${wanted.id}`,
    accepts: OF_DOCUMENT,
  });
  try {
    for (let answers = 0; !settled.isDone && answers < MAX_USELESS; answers++) {
      if (answers > 0) await client.pause(PAUSE_MS * answers);
      const refusal = await client.ask(request, async (answer) => {
        if (answer.status >= 300) return answer.refusal();
        return readList(answer, settled, options);
      });
      if (refusal !== undefined) return await refuseAll(settled.left, refusal.error, refusal.reason, take);
    }
  } catch (failure) {
    // A missing database fails with another code.
    if (!(failure instanceof ReplicationError && failure.code === 'not_found')) throw failure;
    return refuseAll(settled.left, 'not_found', 'missing', take);
  }
  const { problem = 'it is not in the response' } = settled;
  await refuseAll(settled.left, BAD_ANSWER, `the source does not return what was requested: ${problem}`, take);
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
