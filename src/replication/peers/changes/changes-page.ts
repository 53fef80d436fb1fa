import { ownMember } from '../../../base/json/objects.ts';
import { whenReady } from '../../../base/shared/maybe-promise.ts';
import type { Sequence } from '../../contract.ts';
import type { Answer } from '../client/answer.ts';
import type { PeerClient, PeerRequest } from '../client/peer-client.ts';
import type { Change, ChangesPage } from '../contract.ts';
import { readElements } from '../documents/answered-list.ts';
import { changeBytes, LONGEST_ROW, readChange, readPending, readSequence } from './changes-request.ts';

const BAD_REQUEST = 400;

/** Requests changes that come as one list. */
export function readChangesPage(client: PeerClient, request: PeerRequest, limit: number): Promise<ChangesPage> {
  return client.ask(request, (answer) => readPage(answer, limit));
}

/** As `readChangesPage`; undefined if the peer refuses the request as it stands. */
export function tryChangesPage(
  client: PeerClient,
  request: PeerRequest,
  limit: number,
): Promise<ChangesPage | undefined> {
  return client.ask({ ...request, accepts: [BAD_REQUEST] }, async (answer) => {
    if (answer.status < 300) return readPage(answer, limit);
    await answer.discard();
    return undefined;
  });
}

/** A row is stored as soon as it arrives, so that a response takes no more memory than the requested changes. */
async function readPage(answer: Answer, limit: number): Promise<ChangesPage> {
  const changes: (Change & { readonly seq: Sequence })[] = [];
  const list = { member: 'results', most: limit, longest: LONGEST_ROW };
  const takeRow = (row: unknown) => {
    const change = answer.useable(() => readChange(row));
    changes.push(change);
    return answer.hold(changeBytes(change));
  };
  const members = await readElements(answer, list, (text) => whenReady(answer.parse(text), takeRow));
  if (members === undefined) throw answer.unusable('a row is no change');
  return answer.useable(() => ({
    changes,
    lastSeq: readSequence(ownMember(members, 'last_seq') ?? changes.at(-1)?.seq),
    pending: readPending(ownMember(members, 'pending')),
  }));
}
