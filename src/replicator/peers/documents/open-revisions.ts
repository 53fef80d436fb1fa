/** Reads documents one by one with `open_revs` (docs/http.md#open-revisions), from peers that know nothing better. */
import { JsonCursor } from '../../../json/json-cursor.ts';
import { ListCutter } from '../../../json/list-cutter.ts';
import { ReplicationError } from '../../failure.ts';
import type { Answer } from '../asking/answer.ts';
import type { PeerClient } from '../asking/peer-client.ts';
import type { FoundDocument, WantedDocument } from '../contract.ts';
import { documentPath, queryText } from '../paths.ts';
import type { ReadOptions } from './bulk-get.ts';
import { foundDocument, revOf } from './found-document.ts';

/** Revisions that an address names at most: servers bound its length. */
const REVS_PER_REQUEST = 50;

type TakeFound = (found: FoundDocument) => Promise<void>;

export async function readByOpenRevisions(
  client: PeerClient,
  wanted: WantedDocument,
  options: ReadOptions,
  take: TakeFound,
): Promise<void> {
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
  const own = { revs: 'true', latest: 'true', open_revs: JSON.stringify(wanted.revs) };
  const path = `${documentPath(wanted.id)}${queryText({ ...own, ...attachmentParameters(wanted, options) })}`;
  const taken = new Set<string>();
  /** What came before an answer broke off comes again with the next one; and of several revisions some may have the same leaf. */
  const takeOnce = async (found: FoundDocument) => {
    const rev = revOf(found);
    if (taken.has(rev)) return;
    await take(found);
    taken.add(rev);
  };
  try {
    const request = { method: 'GET', path, names: `document ${wanted.id}` };
    await client.ask(request, (answer) => readList(answer, wanted, options, takeOnce));
  } catch (failure) {
    // A missing database fails with another code.
    if (!(failure instanceof ReplicationError && failure.code === 'not_found')) throw failure;
    for (const rev of wanted.revs) await takeOnce(missing(wanted.id, rev));
  }
}

async function readList(answer: Answer, wanted: WantedDocument, options: ReadOptions, take: TakeFound): Promise<void> {
  const cutter = new ListCutter('');
  for (let piece = await answer.pullText(); piece !== undefined; piece = await answer.pullText()) {
    const text = piece;
    const read = () => cutter.push(text).map((element) => readElement(element, wanted, options));
    for (const found of answer.useable(read)) await take(found);
  }
  answer.useable(() => cutter.finish());
}

/** `{"ok":…}` or `{"missing":rev}` */
function readElement(text: string, wanted: WantedDocument, { attachments }: ReadOptions): FoundDocument {
  const cursor = new JsonCursor(text);
  cursor.enter();
  while (cursor.nextMember()) {
    if (cursor.name === 'ok') return foundDocument(cursor.valueText, wanted, attachments);
    if (cursor.name === 'missing') return missing(wanted.id, String(JSON.parse(cursor.valueText)));
  }
  throw new SyntaxError('A result is neither a document nor a missing revision');
}

function missing(id: string, rev: string): FoundDocument {
  return { type: 'refused', refused: { id, rev, error: 'not_found', reason: 'missing' } };
}

function attachmentParameters({ since }: WantedDocument, { attachments }: ReadOptions) {
  if (!attachments) return {};
  return { attachments: 'true', atts_since: since.length === 0 ? undefined : JSON.stringify(since) };
}
