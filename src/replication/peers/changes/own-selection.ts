/**
 * Selects documents here, for a peer that can't: old servers support no selectors, and some no lists of ids. They then return all their changes.
 * Ids are checked at once, for every peer, since some return more than requested; selectors when a document has arrived, each revision by itself
 * as the filters of peers do.
 */
import { createKeyOrder } from '../../../base/collation/key-order.ts';
import { isDatabaseError } from '../../../base/errors/database-error.ts';
import { isShallowText } from '../../../base/json/nesting.ts';
import { parseInTurns } from '../../../base/json/parse-in-steps.ts';
import { must } from '../../../base/shared/assert.ts';
import { type MaybePromise, orElse, whenReady } from '../../../base/shared/maybe-promise.ts';
import { createTest, type Test } from '../../../queries/find/selectors/selector-check.ts';
import { parseSelector } from '../../../queries/find/selectors/selector-parser.ts';
import type { Selection } from '../../contract.ts';
import { ReplicationError } from '../../failure.ts';
import type { ChangesPage, ChangesRequest } from '../contract.ts';

export class OwnSelection {
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
