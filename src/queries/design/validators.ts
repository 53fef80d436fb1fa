/** Asks the rules of design documents about writes (docs/http/functions.md#validation-functions). */

import { type DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { isObject } from '../../base/json/objects.ts';
import { parseInTurns } from '../../base/json/parse-in-steps.ts';
import { must } from '../../base/shared/assert.ts';
import { TimeSlice } from '../../base/shared/turn.ts';
import type { Log } from '../../base/system/contract.ts';
import type { Database, DocumentWrite, WriteOptions } from '../../database/store/contract.ts';
import type { Program, ValidatedWrite } from '../sandbox/contract.ts';
import { createDeclarativeValidator } from './declarative-validator.ts';
import { type DesignPrograms, languageOf, SCRIPT_LANGUAGE, type StoredDesign } from './design-programs.ts';
import { type ValidationInput, validationInputs } from './validation-inputs.ts';
import type { Validators } from './write-validation.ts';

interface ValidatorsOptions {
  readonly programs: DesignPrograms;
  readonly log: Log;
}

/** The language of design documents that have indexes and rules as selectors. */
const SELECTOR_LANGUAGE = 'query';

/** Writes whose bodies are read and validated at once. */
const BATCH = 50;

const ADMIN = { name: null, roles: ['_admin'] };

type Refusal = DatabaseError | undefined;
type Refusals = readonly Refusal[];
type Validate = (writes: readonly ValidatedWrite[]) => Promise<Refusals>;

/**
 * Opens the rules of design documents: functions, and the declarative form. Fails as `DesignPrograms.open` does, except if a rule
 * can't be read or run: then every write that it would validate is refused. Design documents are not refused, so the
 * rule can be corrected.
 */
export async function openValidators(
  database: Database,
  designs: readonly StoredDesign[],
  { programs, log }: ValidatorsOptions,
): Promise<Validators | null> {
  const validators: Validate[] = [];
  for (const design of designs) {
    const validate = await openValidator(database, design, programs);
    if (validate !== undefined) validators.push(validate);
    else log.info(`${design.id} in ${database.name}: its validate_doc_update is not in a form that this host asks.`);
  }
  return validators.length === 0 ? null : new DesignValidators(database, validators);
}

/**
 * Opens a rule by its form: a text is a function in JavaScript, an object is a declarative rule. Anything else, and a rule in any other
 * language, can't be asked by this host, so it refuses no write (docs/http/functions.md#which-rules-are-asked).
 */
async function openValidator(
  database: Database,
  design: StoredDesign,
  programs: DesignPrograms,
): Promise<Validate | undefined> {
  const language = await languageOf(design.body);
  const { validate_doc_update: rule }: { readonly validate_doc_update?: unknown } = Object(
    await parseInTurns(design.body),
  );
  const isScript = language === SCRIPT_LANGUAGE;
  if (isScript && typeof rule === 'string') return openFunction(database, design, programs);
  return (isScript || language === SELECTOR_LANGUAGE) && isObject(rule) ? openDeclared(design, rule) : undefined;
}

function openDeclared({ id }: StoredDesign, rule: unknown): Validate {
  try {
    return createDeclarativeValidator(id, rule);
  } catch (error) {
    const refusal = permanentError(error);
    return async (writes) => writes.map(() => refusal);
  }
}

/** Opens a function. Its program is opened again if the time limit has changed meanwhile. */
async function openFunction(database: Database, design: StoredDesign, programs: DesignPrograms): Promise<Validate> {
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
