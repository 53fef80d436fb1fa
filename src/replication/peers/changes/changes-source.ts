/** The changes of a peer, selected by the peer or here. */

import { CustomCodeError, isDatabaseError } from '../../../base/errors/database-error.ts';
import type { RefusedDocument, Selection } from '../../contract.ts';
import type { PeerClient } from '../client/peer-client.ts';
import type { ChangesListing, ChangesPage, ChangesRequest, DocumentText, FoundDocument } from '../contract.ts';
import { readChangesPage, tryChangesPage } from './changes-page.ts';
import { changesRequest } from './changes-request.ts';
import { LiveFeeds } from './live-feed.ts';
import { OwnSelection } from './own-selection.ts';

type TakeFound = (found: FoundDocument) => Promise<void>;

export class ChangesSource {
  readonly #client: PeerClient;
  readonly #heartbeatMs: number;
  readonly #feeds: LiveFeeds;
  readonly #own = new OwnSelection();

  constructor(client: PeerClient, heartbeatMs: number) {
    this.#client = client;
    this.#heartbeatMs = heartbeatMs;
    this.#feeds = new LiveFeeds(client, heartbeatMs);
  }

  async read(request: ChangesRequest): Promise<ChangesListing> {
    const { limit, selection } = request;
    this.#note(selection);
    const heartbeatMs = this.#client.isLocal ? undefined : this.#heartbeatMs;
    const asked = changesRequest(this.#own.requestFor(request), { feed: 'normal', heartbeatMs, limit });
    const mayRefuse = selection !== undefined && selection.kind !== 'filter' && !this.#own.isUsed;
    const page = await (mayRefuse ? tryChangesPage : readChangesPage)(this.#client, asked, limit);
    if (page !== undefined) return { ...this.#own.chosenOf(page, selection), isLast: isLast(page, limit) };
    if (selection !== undefined) this.#own.use(selection);
    return this.read(request);
  }

  follow(request: ChangesRequest, take: (page: ChangesPage) => Promise<void>): Promise<void> {
    const { selection } = request;
    this.#note(selection);
    return this.#feeds.follow(this.#own.requestFor(request), (page) => take(this.#own.chosenOf(page, selection)));
  }

  #note(selection: Selection | undefined): void {
    if (selection === undefined) return;
    try {
      this.#own.note(selection);
    } catch (failure) {
      // The peer refuses a selector that no one understands.
      if (!isDatabaseError(failure)) throw failure;
    }
  }

  /**
   * Reports documents that were not selected only as such: a newer revision than the listed one may not be selected. A document on which the
   * selector can't be tested, for example because that would take too long, is refused.
   */
  chosen(take: TakeFound): TakeFound {
    return async (found) => {
      if (found.type !== 'document') return take(found);
      const { document, settles } = found;
      const isAsListed = settles.includes(document.rev);
      if (isAsListed && !this.#own.isUsed) return take(found);
      const choice = await this.#choose(document);
      if (choice === 'chosen') return take(found);
      if (choice === 'not chosen') return take({ type: 'not chosen', id: document.id, settles });
      return take({ type: 'refused', refused: choice, settles });
    };
  }

  async #choose({ id, rev, text }: DocumentText): Promise<'chosen' | 'not chosen' | RefusedDocument> {
    try {
      return (await this.#own.passes(text)) ? 'chosen' : 'not chosen';
    } catch (failure) {
      if (!(failure instanceof CustomCodeError)) throw failure;
      return { id, rev, error: failure.word, reason: failure.reason };
    }
  }
}

/** For a page as it arrived: before some of it is left out here. */
function isLast({ changes, pending }: ChangesPage, limit: number): boolean {
  return changes.length === 0 || (pending === undefined ? changes.length < limit : pending === 0);
}
