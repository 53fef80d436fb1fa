/** Asks the rules of design documents about writes (docs/http/functions.md#validation-functions). */

import { createKeyOrder } from '../../base/collation/key-order.ts';
import { DatabaseError, isDatabaseError, RefusalError } from '../../base/errors/database-error.ts';
import { isObject } from '../../base/json/objects.ts';
import { parseInTurns } from '../../base/json/parse-in-steps.ts';
import { must } from '../../base/shared/assert.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import { runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import type { Log } from '../../base/system/contract.ts';
import type { DocId } from '../../database/documents/contract.ts';
import type { Database, DocumentWrite, WriteOptions } from '../../database/store/contract.ts';
import { QUERY_LANGUAGE } from '../find/index-definition.ts';
import type { Selector } from '../find/selectors/selector.ts';
import { createTest } from '../find/selectors/selector-check.ts';
import { failuresOf } from '../find/selectors/selector-failures.ts';
import { parseSelector } from '../find/selectors/selector-parser.ts';
import { type Program, SCRIPT_LANGUAGE, type ValidatedWrite } from '../sandbox/contract.ts';
import type { DesignDocument } from '../views/contract.ts';
import { type DesignPrograms, languageOf } from './design-programs.ts';
import { type ValidationInput, validationInputs } from './validation-inputs.ts';
import type { Validators } from './write-validation.ts';

interface ValidatorsOptions {
  readonly programs: DesignPrograms;
  readonly log: Log;
}

/** Writes whose bodies are read and validated at once. */
const BATCH = 50;

const ADMIN = { name: null, roles: ['_admin'] };

type Refusal = DatabaseError | undefined;
type Refusals = readonly Refusal[];
/** Returns for each write why it is refused, or undefined. */
type Validate = (writes: readonly ValidatedWrite[]) => Promise<Refusals>;

/**
 * Opens the rules of design documents: functions, and the declarative form. Fails as `DesignPrograms.open` does, except if a rule
 * can't be read or run: then every write that it would validate is refused. Design documents are not refused, so the
 * rule can be corrected.
 */
export async function openValidators(
  database: Database,
  designs: readonly DesignDocument[],
  { programs, log }: ValidatorsOptions,
): Promise<Validators | null> {
  const validators: Validate[] = [];
  for (const design of designs) {
    const validate = await openValidator(database, design, programs);
    if (validate !== undefined) validators.push(validate);
    else
      log.info(
        `${design.id} in ${database.name}: its validate_doc_update is ignored, because it is neither a function in javascript nor an object with a selector.`,
      );
  }
  return validators.length === 0 ? null : new DesignValidators(database, validators);
}

/**
 * Opens a rule by its form: a text is a function in JavaScript, an object is a declarative rule. Anything else, and a rule in any other
 * language, can't be asked by this host, so it refuses no write (docs/http/functions.md#which-rules-are-asked).
 */
async function openValidator(
  database: Database,
  design: DesignDocument,
  programs: DesignPrograms,
): Promise<Validate | undefined> {
  const language = await languageOf(design.body);
  const { validate_doc_update: rule }: { readonly validate_doc_update?: unknown } = Object(
    await parseInTurns(design.body),
  );
  const isScript = language === SCRIPT_LANGUAGE;
  if (isScript && typeof rule === 'string') return openFunction(database, design, programs);
  return (isScript || language === QUERY_LANGUAGE) && isObject(rule) ? openDeclared(design, rule) : undefined;
}

function openDeclared({ id }: DesignDocument, rule: unknown): Validate {
  try {
    return createDeclarativeValidator(id, rule);
  } catch (error) {
    const refusal = permanentError(error);
    return async (writes) => writes.map(() => refusal);
  }
}

/** Opens a function. Its program is opened again if the time limit has changed meanwhile. */
async function openFunction(database: Database, design: DesignDocument, programs: DesignPrograms): Promise<Validate> {
  const open = async () => {
    const { timeoutMs } = programs;
    return { timeoutMs, program: await programs.open(database, design).catch(permanentError) };
  };
  let opened = await open();
  return async (writes) => {
    if (opened.timeoutMs !== programs.timeoutMs) opened = await open();
    return validateWith(opened.program, writes);
  };
}

async function validateWith(program: Program | DatabaseError, writes: readonly ValidatedWrite[]): Promise<Refusals> {
  if (isDatabaseError(program)) return writes.map(() => program);
  try {
    return await program.validate(writes);
  } catch (error) {
    return validateWith(permanentError(error), writes);
  }
}

/** Returns errors that stay until the design document changes, and throws others. */
function permanentError(error: unknown): DatabaseError {
  if (isDatabaseError(error, 'compilation_error') || isDatabaseError(error, 'not_implemented')) return error;
  throw error;
}

class DesignValidators implements Validators {
  readonly #database: Database;
  readonly #validators: readonly Validate[];

  constructor(database: Database, validators: readonly Validate[]) {
    this.#database = database;
    this.#validators = validators;
  }

  async validate(writes: readonly DocumentWrite[], options: WriteOptions): Promise<Refusals> {
    const refusals: Refusal[] = [];
    const timeSlice = new TimeSlice();
    for (let start = 0; start < writes.length; start += BATCH) {
      refusals.push(...(await this.#validateBatch(writes.slice(start, start + BATCH), options, timeSlice)));
    }
    return refusals;
  }

  async #validateBatch(
    writes: readonly DocumentWrite[],
    options: WriteOptions,
    timeSlice: TimeSlice,
  ): Promise<Refusals> {
    const { name, security } = this.#database;
    const userContext = JSON.stringify({ db: name, ...(options.user ?? ADMIN) });
    const inputs = await this.#inputsOf(writes, options);
    const refusals: Refusal[] = inputs.map(({ refusal }) => refusal);
    for (const validate of this.#validators) {
      if (timeSlice.isDue) await timeSlice.endTurn();
      const validated = [...inputs.entries()].filter(
        ([index, { newDocument }]) => newDocument !== undefined && refusals[index] === undefined,
      );
      const texts = validated.map(([, { newDocument, oldDocument }]) => {
        return { newDocument: must(newDocument), oldDocument, userContext, securityObject: security };
      });
      const outcomes = await validate(texts);
      for (const [position, [index]] of validated.entries()) refusals[index] = outcomes[position];
    }
    return refusals;
  }

  async #inputsOf(writes: readonly DocumentWrite[], options: WriteOptions): Promise<readonly ValidationInput[]> {
    const snapshot = this.#database.snapshot();
    try {
      return await validationInputs(snapshot, writes, options);
    } finally {
      snapshot.release();
    }
  }
}

/** Members of the object on which a declarative rule is tested: the new document, and the one that it replaces, if there is one. */
const NEW = 'newDoc';
const OLD = 'oldDoc';

/**
 * Creates a validator for a declarative rule, `validate_doc_update` as an object (docs/http/functions.md#declarative-validation), which
 * needs no sandbox. Fails with `compilation_error` if it can't be read.
 */
function createDeclarativeValidator(id: DocId, rule: unknown): Validate {
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
