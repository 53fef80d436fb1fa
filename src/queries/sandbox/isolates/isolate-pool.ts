/**
 * The programs that have an isolate. Their number is bounded: the least recently used isolate is disposed to make
 * room, and its WebAssembly instance serves the next one. Their memory is bounded, too: while one is used, the others leave it the most
 * that it may take. Isolates are in use within one turn only, so any may be disposed between
 * turns. Those in which lists wait are retained, and are disposed only if there would otherwise be twice as many isolates.
 */
import { DatabaseError, isDatabaseError } from '../../../base/errors/database-error.ts';
import type { Clock } from '../../../base/shared/clock.ts';
import { nextTurn } from '../../../base/shared/turn.ts';
import { sandboxClosed } from './call-failures.ts';
import { Isolate, type IsolateOptions, type PreparedContext, prepareContext } from './isolate.ts';
import type { MemoryShare } from './memory-shares.ts';
import type { QuickJsInstance, QuickJsInstanceFactory } from './quickjs-instance.ts';

/** A program, as the pool sees it. */
export interface IsolateOwner {
  readonly options: IsolateOptions;
}

export interface PoolLimits {
  readonly maxIsolates: number;
  readonly memory: MemoryShare;
}

/** An instance that grew beyond this is not used again: WebAssembly memory never shrinks. */
const MAX_REUSED_BYTES = 48 * 1024 * 1024;
/** An isolate that was used this recently is still in use. */
const IN_USE_MS = 1_000;

export class IsolatePool {
  readonly #factory: QuickJsInstanceFactory;
  readonly #clock: Clock;
  readonly #maxIsolates: number;
  readonly #memory: MemoryShare;
  readonly #onWaste: () => void;
  /** In the order of their last use. */
  readonly #isolates = new Map<IsolateOwner, Isolate>();
  /** How many lists wait in an isolate. */
  readonly #retains = new Map<Isolate, number>();
  /** The instance for the next isolate; the first one may have its context already. */
  #spare: { readonly instance: QuickJsInstance; readonly prepared?: PreparedContext } | undefined;
  /** The owner whose isolate may have changed in size. */
  #lastUser: IsolateOwner | undefined;
  #isClosed = false;

  /** `onWaste` is called when an isolate that had grown is disposed: the collector frees its memory some time, the end of the thread at once. */
  constructor(
    factory: QuickJsInstanceFactory,
    clock: Clock,
    { maxIsolates, memory }: PoolLimits,
    onWaste: () => void = () => undefined,
  ) {
    this.#onWaste = onWaste;
    this.#factory = factory;
    this.#clock = clock;
    this.#maxIsolates = maxIsolates;
    this.#memory = memory;
  }

  /** Does for the first isolate what can be done before its owner is known. If that fails, the first owner receives the error. */
  async prepare(): Promise<void> {
    try {
      const instance = await this.#factory.create();
      this.#spare ??= { instance, prepared: prepareContext(instance) };
    } catch {
      // It is retried.
    }
  }

  has(owner: IsolateOwner): boolean {
    return this.#isolates.has(owner);
  }

  /**
   * Returns whether the owner has an isolate, or can have one without replacing one in use. More programs than places, called in turn, would
   * each find that theirs was just disposed.
   */
  hasRoomFor(owner: IsolateOwner): boolean {
    if (this.#isolates.has(owner) || this.#isolates.size < this.#maxIsolates) return true;
    const [oldest] = this.#isolates.values();
    return oldest === undefined || this.#clock.monotonic() - oldest.usedAt >= IN_USE_MS;
  }

  /** Returns the owner's isolate if it is available in this turn. */
  getNow(owner: IsolateOwner): Isolate | undefined {
    if (this.#isClosed) throw sandboxClosed();
    if (this.#lastUser !== owner) this.#leaveMemoryFor(owner);
    this.#lastUser = owner;
    const isolate = this.#isolates.get(owner);
    if (isolate !== undefined) {
      this.#isolates.delete(owner);
      this.#isolates.set(owner, isolate);
      isolate.usedAt = this.#clock.monotonic();
      return isolate;
    }
    if (this.#spare === undefined && this.#isolates.size >= this.#maxIsolates) this.#evictOldest(this.#maxIsolates * 2);
    return this.#spare === undefined ? undefined : this.#createOnSpare(owner);
  }

  /** Like `getNow`, but disposes another program's isolate rather than wait. Undefined if there is none. */
  getNowByEvicting(owner: IsolateOwner): Isolate | undefined {
    const isolate = this.getNow(owner);
    if (isolate !== undefined) return isolate;
    this.#evictOldest(0);
    return this.getNow(owner);
  }

  /** Returns whether the owner still has this isolate. */
  owns(owner: IsolateOwner, isolate: Isolate): boolean {
    return this.#isolates.get(owner) === isolate;
  }

  /** Keeps an isolate from being disposed to make room, until `release` is called as often. */
  retain(isolate: Isolate): void {
    this.#retains.set(isolate, (this.#retains.get(isolate) ?? 0) + 1);
  }

  release(owner: IsolateOwner, isolate: Isolate): void {
    const retains = (this.#retains.get(isolate) ?? 0) - 1;
    if (retains > 0) this.#retains.set(isolate, retains);
    else this.#retains.delete(isolate);
    if (this.owns(owner, isolate)) this.disposeGrown(owner);
  }

  /** Disposes the owner's isolate if it has taken much memory, which is freed in no other way, and no list waits in it. */
  disposeGrown(owner: IsolateOwner): void {
    const isolate = this.#isolates.get(owner);
    if (isolate === undefined || bytesOf(isolate.instance) <= MAX_REUSED_BYTES || this.#retains.has(isolate)) return;
    this.dispose(owner);
  }

  /**
   * Creates an isolate for the owner, and an instance for it. Fails with `functions_unavailable` if QuickJS can't be loaded, with
   * `not_implemented` if it can't run here.
   */
  async create(owner: IsolateOwner): Promise<Isolate> {
    let instance: QuickJsInstance;
    try {
      instance = await this.#factory.create();
    } catch (cause) {
      if (isDatabaseError(cause)) throw cause;
      const reason = `This host can't run WebAssembly, which functions of design documents need: ${String(cause)}`;
      throw new DatabaseError('not_implemented', reason, { cause });
    }
    // Starting the program in it takes tens of milliseconds, as creating it did: other work can run between the two.
    await nextTurn();
    this.#spare ??= { instance };
    this.getNow(owner);
    // And before it is called.
    await nextTurn();
    return this.getNow(owner) ?? this.create(owner);
  }

  /** Disposes the owner's isolate, if it has one; a new one is created when it is needed. */
  dispose(owner: IsolateOwner): void {
    const isolate = this.#isolates.get(owner);
    this.#isolates.delete(owner);
    if (isolate === undefined) return;
    const hasGrown = bytesOf(isolate.instance) > MAX_REUSED_BYTES;
    if (hasGrown) this.#onWaste();
    if (isolate.dispose() && !hasGrown) this.#spare ??= { instance: isolate.instance };
  }

  close(): void {
    for (const owner of this.#isolates.keys()) this.dispose(owner);
    this.#spare = undefined;
    this.#isClosed = true;
  }

  #createOnSpare(owner: IsolateOwner): Isolate | undefined {
    const spare = this.#spare;
    this.#spare = undefined;
    if (spare === undefined) return undefined;
    const isolate = new Isolate(spare.instance, owner.options, this.#clock, spare.prepared);
    if (this.#isolates.size >= this.#maxIsolates) this.#evictOldest(this.#maxIsolates * 2);
    this.#isolates.set(owner, isolate);
    isolate.usedAt = this.#clock.monotonic();
    return isolate;
  }

  /** Disposes isolates of others until the owner's may take as much as one may. Those in which lists wait come last. */
  #leaveMemoryFor(owner: IsolateOwner): void {
    const others = [...this.#isolates].filter(([other]) => other !== owner);
    let excess = others.reduce((sum, [, { instance }]) => sum + bytesOf(instance), 0);
    excess -= this.#memory.threadBytes - this.#memory.isolateBytes;
    if (excess <= 0) return;
    const isRetained = ([, isolate]: (typeof others)[number]) => this.#retains.has(isolate);
    for (const other of [...others.filter((each) => !isRetained(each)), ...others.filter(isRetained)]) {
      if (excess <= 0) break;
      excess -= bytesOf(other[1].instance);
      this.dispose(other[0]);
    }
    // Otherwise the instance of one of them would be kept beside the owner's own.
    if (this.#isolates.has(owner)) this.#spare = undefined;
  }

  /** Disposes the oldest isolate; a retained one only if there are at least `retainedFrom` isolates. */
  #evictOldest(retainedFrom: number): void {
    const isolates = [...this.#isolates];
    const free = isolates.find(([, isolate]) => !this.#retains.has(isolate));
    const [owner] = free ?? (isolates.length >= retainedFrom ? isolates[0] : undefined) ?? [];
    if (owner !== undefined) this.dispose(owner);
  }
}

function bytesOf({ quickjs }: QuickJsInstance): number {
  return quickjs.getWasmMemory().buffer.byteLength;
}
