/** A program on QuickJS. It takes its isolate from the pool for each call, and decides what a failure of the isolate means for the caller. */
import { DatabaseError } from '../../errors/database-error.ts';
import { isObject } from '../../json/objects.ts';
import type { Clock } from '../../shared/clock.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import { Pace } from '../../shared/turn.ts';
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
} from '../contract.ts';
import { LIST_BYTES } from '../contract.ts';
import { type Isolate, IsolateFailure } from '../isolates/isolate.ts';
import type { IsolateOwner, IsolatePool } from '../isolates/isolate-pool.ts';
import { SEPARATOR } from '../runtime/protocol.ts';
import { ResumableLists } from '../sources/resumable-lists.ts';
import type { ResumableSource } from '../sources/resumable-source.ts';
import { toResponse } from './function-responses.ts';
import { finishedList, type ListOwner, readAhead, tooLarge, WaitingList } from './list-results.ts';
import { ProgramMapper } from './program-mapper.ts';
import { ProgramReducer } from './program-reducer.ts';

const DEFAULT_MEMORY_BYTES = 64 * 1024 * 1024;

export class QuickJsProgram implements Program, IsolateOwner, ListOwner {
  readonly options: Required<ProgramSource>;
  readonly validates: boolean;
  readonly #pool: IsolatePool;
  readonly #clock: Clock;
  readonly #resumableLists: ResumableLists;

  constructor(source: ProgramSource, pool: IsolatePool, clock: Clock) {
    this.options = { ...source, memoryBytes: source.memoryBytes ?? DEFAULT_MEMORY_BYTES };
    this.validates = hasValidator(source.designDocument);
    this.#pool = pool;
    this.#clock = clock;
    this.#resumableLists = new ResumableLists(source.designDocument);
  }

  log(message: string): void {
    this.options.log(message);
  }

  /** Makes the isolate, where there is none. */
  async begin(): Promise<void> {
    await this.use(() => undefined);
  }

  mapper(maps: readonly string[]): MaybePromise<Mapper> {
    return this.use((isolate) => {
      for (const source of maps) isolate.add('addMap', source);
      return new ProgramMapper(this, maps, this.#clock);
    });
  }

  reducer(source: string, limit: ReduceLimit): MaybePromise<Reducer> {
    return this.use((isolate) => {
      isolate.add('addReducer', source);
      return new ProgramReducer(this, source, limit);
    });
  }

  /** Where a batch took too much, each of its writes is judged by itself: it may be that only one, or none, takes too much. */
  async validate(writes: readonly ValidatedWrite[]): Promise<readonly (DatabaseError | undefined)[]> {
    if (writes.length === 0) return [];
    if (!this.validates) return writes.map(() => undefined);
    try {
      return await this.#validateBatch(writes);
    } catch (failure) {
      if (!(failure instanceof IsolateFailure)) throw failure;
      // A single write that takes too much time or memory fails the call. One that overflows the stack is refused.
      if (writes.length === 1 && failure.kind !== 'stack') throw failure;
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
    return this.use((isolate) => {
      const outcomes = isolate.call('validate', texts.join(SEPARATOR)).split(SEPARATOR);
      return outcomes.map((outcome) => (outcome === '' ? undefined : isolate.toError(outcome)));
    });
  }

  filter(name: string, documents: readonly string[], request: string): MaybePromise<readonly boolean[]> {
    if (documents.length === 0) return [];
    return this.use((isolate) => toFlags(isolate.call('filter', name, request, documents.join(SEPARATOR))));
  }

  filterByView(name: string, documents: readonly string[]): MaybePromise<readonly boolean[]> {
    if (documents.length === 0) return [];
    return this.use((isolate) => toFlags(isolate.call('filterByView', name, documents.join(SEPARATOR))));
  }

  show(name: string, document: string, request: string): MaybePromise<FunctionResponse> {
    return this.use((isolate) => toResponse(isolate.call('show', name, document, request)));
  }

  update(name: string, document: string, request: string): MaybePromise<UpdateResult> {
    return this.use((isolate) => {
      const text = isolate.call('update', name, document, request);
      const at = text.indexOf(SEPARATOR);
      return { document: at === 0 ? undefined : text.slice(0, at), response: toResponse(text.slice(at + 1)) };
    });
  }

  list(name: string, head: string, request: string, rows: RowSource): Promise<ListResult> {
    const source = this.#resumableLists.sourceOf(name);
    return source === undefined
      ? this.#listAtOnce(name, head, request, rows)
      : this.#listByGenerator(name, source, [head, request], rows);
  }

  async #listByGenerator(
    name: string,
    source: ResumableSource,
    [head, request]: readonly [head: string, request: string],
    rows: RowSource,
  ): Promise<ListResult> {
    const begun = await this.use((isolate) => {
      if (!isolate.addList(name, source)) return undefined;
      // The list has to retain the isolate in this turn: later it may be gone.
      return new WaitingList(this, isolate, rows, isolate.call('beginList', name, head, request));
    });
    return begun ?? this.#listAtOnce(name, head, request, rows);
  }

  async #listAtOnce(name: string, head: string, request: string, rows: RowSource): Promise<ListResult> {
    const batches = await readAhead(rows);
    return this.use((isolate) => {
      const chunks: string[] = [];
      let length = 0;
      let next = 0;
      let isTooLong = false;
      const text = isolate.callList(name, head, request, (sent) => {
        length += sent.length;
        isTooLong ||= length > LIST_BYTES;
        if (isTooLong) return '';
        if (sent !== '') chunks.push(sent);
        return batches[next++] ?? '';
      });
      // Not thrown in the callback, since the function could catch that.
      if (isTooLong) throw tooLarge();
      return finishedList(text, chunks);
    });
  }

  useSame<T>(isolate: Isolate, work: (isolate: Isolate) => T): T {
    if (this.#pool.owns(this, isolate)) return this.#run(isolate, work);
    throw new DatabaseError('os_process_error', 'The sandbox of this list was lost meanwhile; repeat the request.');
  }

  retain(isolate: Isolate): void {
    this.#pool.retain(isolate);
  }

  release(isolate: Isolate): void {
    this.#pool.release(isolate);
  }

  close(): void {
    this.#pool.dispose(this);
  }

  use<T>(work: (isolate: Isolate) => T): MaybePromise<T> {
    const isolate = this.#pool.getNow(this);
    return isolate === undefined
      ? this.#pool.create(this).then((created) => this.#run(created, work))
      : this.#run(isolate, work);
  }

  useNow<T>(work: (isolate: Isolate) => T): T {
    const isolate = this.#pool.getNowByEvicting(this);
    if (isolate !== undefined) return this.#run(isolate, work);
    throw new DatabaseError('os_process_error', 'The sandbox is being started again; repeat the request.');
  }

  #run<T>(isolate: Isolate, work: (isolate: Isolate) => T): T {
    try {
      return work(isolate);
    } catch (failure) {
      if (failure instanceof IsolateFailure) this.#pool.dispose(this);
      throw failure;
    }
  }
}

const toFlags = (text: string): boolean[] => Array.from(text, (flag) => flag === '1');

function hasValidator(designDocument: string): boolean {
  const design: unknown = JSON.parse(designDocument);
  return isObject(design) && 'validate_doc_update' in design;
}
