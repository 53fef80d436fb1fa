/** A program on QuickJS: gets its engine from the pool for each call, and says what an engine's end means to the caller. */
import { DatabaseError } from '../errors/database-error.ts';
import type { Clock } from '../shared/clock.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';
import { Pace } from '../shared/turn.ts';
import type {
  FunctionResponse,
  ListResult,
  Mapper,
  Program,
  ProgramSource,
  ReduceLimit,
  Reducer,
  RowSource,
  UpdateResult,
  ValidatedWrite,
} from './contract.ts';
import { LIST_BYTES } from './contract.ts';
import { type Engine, EngineFailure, SEPARATOR } from './engine.ts';
import type { EngineOwner, EnginePool } from './engine-pool.ts';
import { finishedList, type ListOwner, readAhead, tooLarge, WaitingList } from './list-run.ts';
import type { SteppedSource } from './list-source.ts';
import { ProgramMapper } from './mapper.ts';
import { ProgramReducer } from './reducer.ts';
import { toResponse } from './responses.ts';
import { SteppedLists } from './stepped-lists.ts';

const DEFAULT_MEMORY_BYTES = 64 * 1024 * 1024;

export class QuickJsProgram implements Program, EngineOwner, ListOwner {
  readonly options: Required<ProgramSource>;
  readonly validates: boolean;
  readonly #pool: EnginePool;
  readonly #clock: Clock;
  readonly #steppedLists: SteppedLists;

  constructor(source: ProgramSource, pool: EnginePool, clock: Clock) {
    this.options = { ...source, memoryBytes: source.memoryBytes ?? DEFAULT_MEMORY_BYTES };
    this.validates = hasValidator(source.designDocument);
    this.#pool = pool;
    this.#clock = clock;
    this.#steppedLists = new SteppedLists(source.designDocument);
  }

  log(message: string): void {
    this.options.log(message);
  }

  /** Makes the engine where there is none. */
  async begin(): Promise<void> {
    await this.use(() => undefined);
  }

  mapper(maps: readonly string[]): MaybePromise<Mapper> {
    return this.use((engine) => {
      for (const source of maps) engine.add('addMap', source);
      return new ProgramMapper(this, maps, this.#clock);
    });
  }

  reducer(source: string, limit: ReduceLimit): MaybePromise<Reducer> {
    return this.use((engine) => {
      engine.add('addReducer', source);
      return new ProgramReducer(this, source, limit);
    });
  }

  /** What a batch was too much for, its documents may not be: each on its own tells. */
  async validate(writes: readonly ValidatedWrite[]): Promise<readonly (DatabaseError | undefined)[]> {
    if (writes.length === 0) return [];
    if (!this.validates) return writes.map(() => undefined);
    try {
      return await this.#validateBatch(writes);
    } catch (failure) {
      if (!(failure instanceof EngineFailure)) throw failure;
      // Time and memory are up for good where a single document needs too much.
      if (writes.length === 1 && failure.end !== 'stack') throw failure;
      if (writes.length === 1) return [failure];
    }
    const outcomes: (DatabaseError | undefined)[] = [];
    const pace = new Pace();
    for (const write of writes) {
      outcomes.push(...(await this.validate([write])));
      if (pace.isDue) await pace.rest();
    }
    return outcomes;
  }

  #validateBatch(writes: readonly ValidatedWrite[]): MaybePromise<readonly (DatabaseError | undefined)[]> {
    const texts = writes.flatMap((write) => [
      write.newDocument,
      write.oldDocument,
      write.userContext,
      write.securityObject,
    ]);
    return this.use((engine) => {
      const outcomes = engine.call('validate', texts.join(SEPARATOR)).split(SEPARATOR);
      return outcomes.map((outcome) => (outcome === '' ? undefined : engine.toError(outcome)));
    });
  }

  filter(name: string, documents: readonly string[], request: string): MaybePromise<readonly boolean[]> {
    if (documents.length === 0) return [];
    return this.use((engine) => toFlags(engine.call('filter', name, request, documents.join(SEPARATOR))));
  }

  filterByView(name: string, documents: readonly string[]): MaybePromise<readonly boolean[]> {
    if (documents.length === 0) return [];
    return this.use((engine) => toFlags(engine.call('filterByView', name, documents.join(SEPARATOR))));
  }

  show(name: string, document: string, request: string): MaybePromise<FunctionResponse> {
    return this.use((engine) => toResponse(engine.call('show', name, document, request)));
  }

  update(name: string, document: string, request: string): MaybePromise<UpdateResult> {
    return this.use((engine) => {
      const text = engine.call('update', name, document, request);
      const at = text.indexOf(SEPARATOR);
      return { document: at === 0 ? undefined : text.slice(0, at), response: toResponse(text.slice(at + 1)) };
    });
  }

  list(name: string, head: string, request: string, rows: RowSource): Promise<ListResult> {
    const source = this.#steppedLists.sourceOf(name);
    return source === undefined
      ? this.#listAtOnce(name, head, request, rows)
      : this.#listInSteps(name, source, [head, request], rows);
  }

  async #listInSteps(
    name: string,
    source: SteppedSource,
    [head, request]: readonly [head: string, request: string],
    rows: RowSource,
  ): Promise<ListResult> {
    const begun = await this.use((engine) => {
      if (!engine.addList(name, source)) return undefined;
      // In the turn in which the engine is there, so that it stays.
      return new WaitingList(this, engine, rows, engine.call('beginList', name, head, request));
    });
    return begun ?? this.#listAtOnce(name, head, request, rows);
  }

  async #listAtOnce(name: string, head: string, request: string, rows: RowSource): Promise<ListResult> {
    const batches = await readAhead(rows);
    return this.use((engine) => {
      const chunks: string[] = [];
      let length = 0;
      let next = 0;
      let isTooLong = false;
      const text = engine.callList(name, head, request, (sent) => {
        length += sent.length;
        isTooLong ||= length > LIST_BYTES;
        if (isTooLong) return '';
        if (sent !== '') chunks.push(sent);
        return batches[next++] ?? '';
      });
      // What is thrown in there, the function could catch.
      if (isTooLong) throw tooLarge();
      return finishedList(text, chunks);
    });
  }

  goOn<T>(engine: Engine, work: (engine: Engine) => T): T {
    if (this.#pool.isEngineOf(this, engine)) return this.#run(engine, work);
    throw new DatabaseError('os_process_error', 'The engine of this list was lost meanwhile; repeat the request.');
  }

  hold(engine: Engine): void {
    this.#pool.hold(engine);
  }

  letGo(engine: Engine): void {
    this.#pool.letGo(engine);
  }

  close(): void {
    this.#pool.drop(this);
  }

  use<T>(work: (engine: Engine) => T): MaybePromise<T> {
    const engine = this.#pool.now(this);
    return engine === undefined ? this.#pool.make(this).then((made) => this.#run(made, work)) : this.#run(engine, work);
  }

  useNow<T>(work: (engine: Engine) => T): T {
    const engine = this.#pool.nowAtAnyCost(this);
    if (engine !== undefined) return this.#run(engine, work);
    throw new DatabaseError('os_process_error', 'The sandbox is being started again; repeat the request.');
  }

  #run<T>(engine: Engine, work: (engine: Engine) => T): T {
    try {
      return work(engine);
    } catch (failure) {
      if (failure instanceof EngineFailure) this.#pool.drop(this);
      throw failure;
    }
  }
}

const toFlags = (text: string): boolean[] => Array.from(text, (flag) => flag === '1');

function hasValidator(designDocument: string): boolean {
  const design: unknown = JSON.parse(designDocument);
  return typeof design === 'object' && design !== null && 'validate_doc_update' in design;
}
