import { ownMember } from '../../../json/objects.ts';
import type { Answer } from '../asking/answer.ts';
import type { PeerClient, PeerRequest } from '../asking/peer-client.ts';
import type { ChangesPage } from '../contract.ts';
import { readChange, readPending, readSequence } from './changes-request.ts';

const BAD_REQUEST = 400;

/** Asks for changes that come as one list. */
export function readChangesPage(client: PeerClient, request: PeerRequest): Promise<ChangesPage> {
  return client.ask(request, readPage);
}

/** As `readChangesPage`; undefined where the peer refuses the request as it stands. */
export function tryChangesPage(client: PeerClient, request: PeerRequest): Promise<ChangesPage | undefined> {
  return client.ask({ ...request, accepts: [BAD_REQUEST] }, async (answer) => {
    if (answer.status < 300) return readPage(answer);
    await answer.discard();
    return undefined;
  });
}

async function readPage(answer: Answer): Promise<ChangesPage> {
  const page = await answer.object();
  return answer.useable(() => {
    const rows = ownMember(page, 'results');
    if (!Array.isArray(rows)) throw new SyntaxError('There is no list of changes');
    const changes = rows.map(readChange);
    return {
      changes,
      lastSeq: readSequence(ownMember(page, 'last_seq') ?? changes.at(-1)?.seq),
      pending: readPending(ownMember(page, 'pending')),
    };
  });
}
