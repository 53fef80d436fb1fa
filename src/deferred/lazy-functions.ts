import { DatabaseError } from '../errors/database-error.ts';
import { functionsUnavailable } from '../errors/functions-unavailable.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';
import type { CreateFunctions, FunctionParts, FunctionService, LoadFunctions } from './contract.ts';

/**
 * The functions of documents for whoever may need them: loaded at the first need, and once. What can't be loaded fails with
 * `functions_unavailable`, and is tried again at the next need.
 */
export class LazyFunctions {
  readonly #parts: FunctionParts;
  readonly #load: LoadFunctions;
  #service: FunctionService | undefined;
  #loading: Promise<FunctionService> | undefined;
  #isClosed = false;

  constructor(parts: FunctionParts, load: LoadFunctions) {
    this.#parts = parts;
    this.#load = load;
  }

  /** In the same turn where they are at hand. */
  get(): MaybePromise<FunctionService> {
    return this.#service ?? this.#loading ?? this.#begin();
  }

  /** Undefined where they are not loaded. */
  now(): FunctionService | undefined {
    if (this.#service === undefined && this.#load.isAtHand === true && !this.#isClosed) void this.#begin();
    return this.#service;
  }

  /** Closes the indexes, where something was ever asked of them. */
  async closeIndexes(): Promise<void> {
    await this.#service?.closeIndexes();
  }

  #begin(): MaybePromise<FunctionService> {
    const created = this.#load();
    if (!(created instanceof Promise)) return this.#use(created);
    this.#loading = created
      .then((create) => this.#use(create), notLoaded)
      .finally(() => {
        this.#loading = undefined;
      });
    return this.#loading;
  }

  #use(create: CreateFunctions): FunctionService {
    if (this.#isClosed) throw new DatabaseError('shutting_down', 'The service is closed; start it again.');
    this.#service = create(this.#parts);
    return this.#service;
  }

  close(): void {
    this.#isClosed = true;
    this.#service?.close();
  }
}

function notLoaded(cause: unknown): never {
  throw functionsUnavailable('What runs functions of documents', cause);
}
