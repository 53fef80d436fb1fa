import { DatabaseError } from '../../src/base/errors/database-error.ts';
import type { MaybePromise } from '../../src/base/shared/maybe-promise.ts';
import type { Commit, PageFile, PageNumber, PageStore } from '../../src/storage/page-store.ts';

/** Every operation of a stopped store rejects with this: the caller must not take it for a storage error. */
export class StoppedError extends Error {
  constructor() {
    super('The process has died');
    this.name = 'StoppedError';
  }
}

export interface FaultOptions {
  /** The operation with this number, from 1, fails with `error`, and has no effect. */
  readonly failAt?: number | undefined;
  /** From the operation with this number on, nothing has any effect, as if the process had died. */
  readonly stopAt?: number | undefined;
  /** Whether the operation at which it stops took effect; `before` by default. */
  readonly stopped?: 'before' | 'after' | undefined;
  /** Whether operations from the stop on reject with a `StoppedError` (the default) or never settle. */
  readonly ending?: 'reject' | 'hang' | undefined;
  /** `failAt` only counts operations whose name contains this; all of them by default. */
  readonly failOnly?: string | undefined;
  /** The error of `failAt`; `storage_full` by default. */
  readonly error?: Error | undefined;
}

export interface FaultStore extends PageStore {
  /** How many operations there were; a test runs once without a fault and then once for each of them. */
  readonly operations: number;
  /** The operations by name, in order. */
  readonly log: readonly string[];
}

/** Counts all operations of a store and of its files, and makes one of them fail, or the last one. */
export function createFaultStore(store: PageStore, options: FaultOptions = {}): FaultStore {
  const faults = new Faults(options);
  return {
    supports: store.supports,
    get operations() {
      return faults.log.length;
    },
    get log() {
      return faults.log;
    },
    list: () => faults.run('list', () => store.list()),
    open: async (name, mode) => faultFile(faults, await faults.run(`${mode} ${name}`, () => store.open(name, mode))),
    destroy: (name) => faults.run(`destroy ${name}`, () => store.destroy(name)),
    close: () => faults.run('close the store', () => store.close()),
  };
}

class Faults {
  readonly log: string[] = [];
  readonly #options: FaultOptions;
  #counted = 0;

  constructor(options: FaultOptions) {
    this.#options = options;
  }

  /** Runs an operation at once, so that a synchronous one stays so, unless a fault is due. */
  step<T>(name: string, run: () => MaybePromise<T>): MaybePromise<T> {
    const { failAt, failOnly = '', stopAt, stopped, error } = this.#options;
    this.log.push(name);
    const number = this.log.length;
    if (name.includes(failOnly)) this.#counted++;
    if (name.includes(failOnly) && this.#counted === failAt)
      return Promise.reject(error ?? new DatabaseError('storage_full', 'The test disk is full now'));
    if (stopAt === undefined || number < stopAt) return run();
    if (number > stopAt || stopped !== 'after') return this.#end();
    return Promise.resolve(run()).then(
      () => this.#end<T>(),
      () => this.#end<T>(),
    );
  }

  async run<T>(name: string, run: () => Promise<T>): Promise<T> {
    return this.step(name, run);
  }

  #end<T>(): Promise<T> {
    if (this.#options.ending === 'hang') return new Promise(() => undefined);
    return Promise.reject(new StoppedError());
  }
}

function faultFile(faults: Faults, file: PageFile): PageFile {
  const wrapped = {
    name: file.name,
    opening: file.opening,
    read: readThrough(faults, file),
    commit: (commit: Commit) => faults.run(describe(commit), () => file.commit(commit)),
    pageNumbers: (from: PageNumber) => numbersThrough(faults, file, from),
    isCurrent: () => faults.run('isCurrent', () => file.isCurrent()),
    size: () => faults.run('size', () => file.size()),
    close: () => faults.run('close', () => file.close()),
  };
  const { compact, backup } = file;
  return {
    ...wrapped,
    ...(compact === undefined ? {} : { compact: () => faults.run('compact', () => compact.call(file)) }),
    ...(backup === undefined
      ? {}
      : { backup: (folder: string) => faults.run('backup', () => backup.call(file, folder)) }),
  };
}

function readThrough(faults: Faults, file: PageFile): PageFile['read'] {
  function read(page: PageNumber, kind: 'text'): MaybePromise<string | undefined>;
  function read(page: PageNumber, kind: 'bytes'): MaybePromise<Uint8Array | undefined>;
  function read(page: PageNumber, kind: 'text' | 'bytes'): MaybePromise<string | Uint8Array | undefined> {
    return faults.step<string | Uint8Array | undefined>(`read ${page}`, () =>
      kind === 'text' ? file.read(page, 'text') : file.read(page, 'bytes'),
    );
  }
  return read;
}

async function* numbersThrough(faults: Faults, file: PageFile, from: PageNumber): AsyncIterable<readonly PageNumber[]> {
  const batches = file.pageNumbers(from)[Symbol.asyncIterator]();
  for (;;) {
    const batch = await faults.run('pageNumbers', () => batches.next());
    if (batch.done === true) return;
    yield batch.value;
  }
}

function describe(commit: Commit): string {
  const { durability, reserve: _reserve, ...parts } = commit;
  return `${durability} commit of ${Object.keys(parts).join(', ') || 'nothing'}`;
}
