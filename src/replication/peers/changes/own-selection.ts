/**
 * Chooses documents here, for a peer that can't: old servers know no selectors, and some no lists of ids. They give all their changes then. Ids
 * are looked at at once, of each peer, since some give more than they were asked for; selectors when a document has come, each revision by itself
 * as the filters of peers do it.
 */
import { createKeyOrder } from '../../../base/collation/key-order.ts';
import { isDatabaseError } from '../../../base/errors/database-error.ts';
import { isShallowText } from '../../../base/json/nesting.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { must } from '../../../base/shared/assert.ts';
import { type MaybePromise, orElse, whenReady } from '../../../base/shared/maybe-promise.ts';
import { parseSelector } from '../../../queries/find/selectors/selector-parser.ts';
import { createTest, type Test } from '../../../queries/find/selectors/selector-test.ts';
import type { Selection } from '../../contract.ts';
import { ReplicationError } from '../../failure.ts';
import type { ChangesPage, ChangesRequest } from '../contract.ts';

export class OwnSelection {
  /** The peer can't do it. */
  #isUsed = false;
  #test: Test | undefined;

  /** Notes that the peer can't choose. Fails with `bad_request` where nobody could: the selector itself is at fault. */
  use(selection: Selection): void {
    this.#isUsed = true;
    this.note(selection);
  }

  /** What is chosen by, also where the peer does it: it chooses by the revision that it lists, and may give a newer one. */
  note(selection: Selection): void {
    if (selection.kind === 'selector') this.#test ??= createSelectorTest(selection.selector);
  }

  get isUsed(): boolean {
    return this.#isUsed;
  }

  /** What the peer is asked for. */
  requestFor(request: ChangesRequest): ChangesRequest {
    return this.#isUsed ? { ...request, selection: undefined } : request;
  }

  /** Those of the changes that were meant, as far as ids say it. */
  chosenOf<T extends ChangesPage>(page: T, selection: Selection | undefined): T {
    if (selection?.kind !== 'ids') return page;
    const { ids } = selection;
    return { ...page, changes: page.changes.filter(({ id }) => includesSorted(ids, id)) };
  }

  /** Whether a document belongs to it. What is no JSON, or nested too deeply, does: the target says what is wrong with it. */
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

/** Whether the id is one of these, which are in the order of their characters. A set of all of them would be made in one go. */
export function includesSorted(ids: readonly string[], id: string): boolean {
  let [from, to] = [0, ids.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (must(ids[middle]) < id) from = middle + 1;
    else to = middle;
  }
  return ids[from] === id;
}
