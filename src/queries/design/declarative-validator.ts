/**
 * Validates writes by selectors: the declarative form of `validate_doc_update` (docs/http/functions.md#declarative-validation), which
 * needs no sandbox. The selector is tested on an object with the members `newDoc` and, if the write replaces a document, `oldDoc`.
 */
import { createKeyOrder } from '../../base/collation/key-order.ts';
import { DatabaseError, isDatabaseError, RefusalError } from '../../base/errors/database-error.ts';
import { parseInTurns } from '../../base/json/parse-in-steps.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import type { DocId } from '../../database/documents/contract.ts';
import type { Selector } from '../find/selectors/selector.ts';
import { createTest } from '../find/selectors/selector-check.ts';
import { failuresOf } from '../find/selectors/selector-failures.ts';
import { parseSelector } from '../find/selectors/selector-parser.ts';
import type { ValidatedWrite } from '../sandbox/contract.ts';

type Refusal = DatabaseError | undefined;
/** Returns for each write why it is refused, or undefined. */
type Validate = (writes: readonly ValidatedWrite[]) => Promise<readonly Refusal[]>;

const NEW = 'newDoc';
const OLD = 'oldDoc';

/** Creates a validator for `rule`, a member of the design document. Fails with `compilation_error` if it can't be read. */
export function createDeclarativeValidator(id: DocId, rule: unknown): Validate {
  const selector = parseRule(id, rule);
  const compare = createKeyOrder('unicode');
  const test = createTest(selector, compare);
  const needsOld = rootsOf(selector).has(OLD);
  const judge = async (documents: MaybePromise<unknown>, isValid: MaybePromise<boolean>): Promise<Refusal> => {
    try {
      if (await isValid) return undefined;
      const failures = await runCooperatively(failuresOf(selector, await documents, compare));
      return new RefusalError('forbidden', 'document is not valid', failures);
    } catch (error) {
      if (!isDatabaseError(error, 'bad_request')) throw error;
      return new DatabaseError('forbidden', `The document can't be validated by ${id}. ${error.reason}`);
    }
  };
  return async (writes) => {
    const timeSlice = new TimeSlice();
    const refusals: Refusal[] = [];
    for (const write of writes) {
      if (timeSlice.isDue) await timeSlice.rest();
      const documents = documentsOf(write, needsOld);
      const isValid = whenReady(documents, test);
      // Most are valid, and so small that this is known at once.
      refusals.push(isValid === true ? undefined : await judge(documents, isValid));
    }
    return refusals;
  };
}

/** Returns what the selector is tested on. */
function documentsOf({ newDocument, oldDocument }: ValidatedWrite, needsOld: boolean): MaybePromise<unknown> {
  const newDoc = parseInTurns(newDocument);
  if (!needsOld || oldDocument === 'null') return whenReady(newDoc, (value) => ({ [NEW]: value }));
  return whenReady(newDoc, (value) => whenReady(parseInTurns(oldDocument), (old) => ({ [NEW]: value, [OLD]: old })));
}

function parseRule(id: DocId, rule: unknown): Selector {
  const selector = withId(id, () => parseSelector(rule));
  for (const root of rootsOf(selector)) {
    if (root !== NEW && root !== OLD) {
      throw unreadable(id, `It may only have "${NEW}" and "${OLD}" as its fields, not ${JSON.stringify(root)}.`);
    }
  }
  return selector;
}

function withId(id: DocId, parse: () => Selector): Selector {
  try {
    return parse();
  } catch (error) {
    if (!isDatabaseError(error)) throw error;
    throw unreadable(id, error.reason);
  }
}

/** Returns an error that names the design document, because the writer of the refused document is rarely the author of the rule. */
function unreadable(id: DocId, why: string): DatabaseError {
  const reason = `The selectors of validate_doc_update in ${id} can't be read, so all writes are refused. ${why}`;
  return new DatabaseError('compilation_error', reason);
}

/** Returns the first names of all paths. */
function rootsOf(selector: Selector): ReadonlySet<string> {
  if (selector.kind === 'field') return new Set(selector.path.names.slice(0, 1));
  return new Set(selector.parts.flatMap((part) => [...rootsOf(part)]));
}
