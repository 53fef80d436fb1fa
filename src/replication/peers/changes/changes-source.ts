/** The changes of a peer, selected by the peer or here. */

import { createKeyOrder } from '../../../base/collation/key-order.ts';
import { CustomCodeError, isDatabaseError } from '../../../base/errors/database-error.ts';
import { isShallowText } from '../../../base/json/nesting.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { must } from '../../../base/shared/assert.ts';
import { type MaybePromise, orElse, whenReady } from '../../../base/shared/maybe-promise.ts';
import { createTest, type Test } from '../../../queries/find/selectors/selector-check.ts';
import { parseSelector } from '../../../queries/find/selectors/selector-parser.ts';
import type { RefusedDocument, Selection } from '../../contract.ts';
import { ReplicationError } from '../../failure.ts';
import type { PeerClient } from '../client/peer-client.ts';
import type { ChangesListing, ChangesPage, ChangesRequest, DocumentText, FoundDocument } from '../contract.ts';
import { changesRequest, readChangesPage, tryChangesPage } from './changes-request.ts';
import { LiveFeeds } from './live-feed.ts';

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

/**
 * Selects documents here, for a peer that can't: old servers support no selectors, and some no lists of ids. They then return all their changes.
 * Ids are checked at once, for every peer, since some return more than requested; selectors when a document has arrived, each revision by itself
 * as the filters of peers do.
 */
class OwnSelection {
  /** The peer can't select. */
  #isUsed = false;
  #test: Test | undefined;

  /** Notes that the peer can't select. Fails with `bad_request` if the selector itself is invalid. */
  use(selection: Selection): void {
    this.#isUsed = true;
    this.note(selection);
  }

  /** Sets the selection, also if the peer selects: it selects by the revision that it lists, and may return a newer one. */
  note(selection: Selection): void {
    if (selection.kind === 'selector') this.#test ??= createSelectorTest(selection.selector);
  }

  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** Returns the request for the peer. */
  requestFor(request: ChangesRequest): ChangesRequest {
    return this.#isUsed ? { ...request, selection: undefined } : request;
  }

  /** Returns the selected changes, as far as ids decide it. */
  chosenOf<T extends ChangesPage>(page: T, selection: Selection | undefined): T {
    if (selection?.kind !== 'ids') return page;
    const { ids } = selection;
    return { ...page, changes: page.changes.filter(({ id }) => includesSorted(ids, id)) };
  }

  /** Whether a document is selected. Text that is not JSON, or nested too deeply, is: the target reports what is wrong with it. */
  passes(text: string): MaybePromise<boolean> {
    const test = this.#test;
    if (test === undefined || !isShallowText(text)) return true;
    const parsed = orElse(
      () => whenReady(parseInTurns(text), (value) => ({ value })),
      () => undefined,
    );
    return whenReady<{ readonly value: unknown } | undefined, boolean>(
      parsed,
      (found) => found === undefined || test(found.value),
    );
  }
}

function createSelectorTest(selector: string): Test {
  try {
    return createTest(parseSelector(JSON.parse(selector)), createKeyOrder('unicode'));
  } catch (failure) {
    if (!isDatabaseError(failure)) throw failure;
    throw new ReplicationError('bad_request', failure.reason, { isRetryable: false, cause: failure });
  }
}

/** Whether the sorted list contains the id. Making a set of all ids would block too long. */
export function includesSorted(ids: readonly string[], id: string): boolean {
  let [from, to] = [0, ids.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (must(ids[middle]) < id) from = middle + 1;
    else to = middle;
  }
  return ids[from] === id;
}
