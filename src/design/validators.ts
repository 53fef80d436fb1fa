/** Runs the validation functions of design documents (docs/http.md#validation-functions). */
import type { Database, DocumentWrite, WriteOptions } from '../database/contract.ts';
import { type DatabaseError, isDatabaseError } from '../errors/database-error.ts';
import type { Program, ValidatedWrite } from '../query-server/contract.ts';
import { must } from '../shared/assert.ts';
import type { Clock } from '../shared/clock.ts';
import { nextTurn } from '../shared/turn.ts';
import type { DesignPrograms, StoredDesign } from './design-programs.ts';
import { type ValidationInput, validationInputs } from './validation-inputs.ts';
import type { Validators } from './write-validation.ts';

interface ValidatorsParts {
  readonly programs: DesignPrograms;
  readonly clock: Clock;
}

/** Writes whose bodies are read and validated at once. */
const BATCH = 50;
/** Milliseconds of work after which other work gets a turn. */
const TURN_MS = 10;

const ADMIN = { name: null, roles: ['_admin'] };

type Refusal = DatabaseError | undefined;
type Refusals = readonly Refusal[];
type Validate = (writes: readonly ValidatedWrite[]) => Promise<Refusals>;

/**
 * Opens the validation functions of design documents. Fails as `DesignPrograms.open` does, except where a function can't be
 * compiled or run: then every write that it would validate is refused. The design documents among the writes are not, so the
 * function can be corrected.
 */
export async function openValidators(
  database: Database,
  designs: readonly StoredDesign[],
  { programs, clock }: ValidatorsParts,
): Promise<Validators> {
  const validators: Validate[] = [];
  for (const design of designs) validators.push(await openValidator(database, design, programs));
  return new DesignValidators(database, validators, clock);
}

/** The program is opened anew where another time limit was set meanwhile. */
async function openValidator(database: Database, design: StoredDesign, programs: DesignPrograms): Promise<Validate> {
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
  readonly #clock: Clock;

  constructor(database: Database, validators: readonly Validate[], clock: Clock) {
    this.#database = database;
    this.#validators = validators;
    this.#clock = clock;
  }

  async validate(writes: readonly DocumentWrite[], options: WriteOptions): Promise<Refusals> {
    const refusals: Refusal[] = [];
    let turnEnd = this.#clock.monotonic() + TURN_MS;
    for (let start = 0; start < writes.length; start += BATCH) {
      if (this.#clock.monotonic() > turnEnd) {
        await nextTurn();
        turnEnd = this.#clock.monotonic() + TURN_MS;
      }
      refusals.push(...(await this.#validateBatch(writes.slice(start, start + BATCH), options)));
    }
    return refusals;
  }

  async #validateBatch(writes: readonly DocumentWrite[], options: WriteOptions): Promise<Refusals> {
    const { name, security } = this.#database;
    const userContext = JSON.stringify({ db: name, ...(options.user ?? ADMIN) });
    const inputs = await this.#inputsOf(writes, options);
    const refusals: Refusal[] = inputs.map(({ refusal }) => refusal);
    for (const validate of this.#validators) {
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
