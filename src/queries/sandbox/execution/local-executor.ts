/** Runs calls in this thread, with isolates from a pool. */
import { DatabaseError } from '../../../base/errors/database-error.ts';
import type { Clock } from '../../../base/shared/clock.ts';
import { type MaybePromise, whenReady } from '../../../base/shared/maybe-promise.ts';
import { roomInTurn } from '../../../base/shared/turn.ts';
import { LIST_BYTES } from '../contract.ts';
import { IsolateFailure, listLost, listTooLarge } from '../isolates/call-failures.ts';
import type { Isolate } from '../isolates/isolate.ts';
import type { IsolateOwner, IsolatePool } from '../isolates/isolate-pool.ts';
import { type OperationName, SEPARATOR } from '../runtime/protocol.ts';
import type { BegunList, CallAnswer, Executor, FunctionCall, ListBeginning } from './function-call.ts';
import type { CallText } from './long-texts.ts';

/** There is no isolate for a call that can't wait for one. */
export class IsolateMissing extends DatabaseError {
  constructor() {
    super('os_process_error', 'The sandbox is being started again. Send the request again.');
  }
}

export class LocalExecutor implements Executor {
  readonly #pool: IsolatePool;
  readonly #clock: Clock;
  readonly #onStep: () => void;
  readonly #preparing = new Set<IsolateOwner>();

  /** `onStep` is called when one of several steps of a call is done. */
  constructor(pool: IsolatePool, clock: Clock, onStep: () => void = () => undefined) {
    this.#pool = pool;
    this.#clock = clock;
    this.#onStep = onStep;
  }

  /** Returns whether the owner's calls can run here without taking the isolate of another owner that is called, too. */
  hasRoomFor(owner: IsolateOwner): boolean {
    return this.#pool.hasRoomFor(owner);
  }

  /** Runs a call, in the same turn if the owner has its isolate. Each step may take the owner's time; with `sliceMs`, all steps together that. */
  run(owner: IsolateOwner, call: FunctionCall, sliceMs?: number): MaybePromise<CallAnswer> {
    return this.#use(owner, (isolate) => this.#perform(isolate, call, sliceMs));
  }

  /** Like `run`, but in this turn; fails if the owner can't have its isolate in it. */
  runNow(owner: IsolateOwner, call: FunctionCall, sliceMs?: number): CallAnswer {
    const isolate = this.#pool.getNowByEvicting(owner);
    if (isolate !== undefined) {
      return this.#guard(owner, isolate, () => this.#perform(isolate, call, sliceMs));
    }
    throw new IsolateMissing();
  }

  /** Creates the owner's isolate in the background, for a later `runNow`. If that fails, the caller learns the reason on its next request. */
  prepare(owner: IsolateOwner): void {
    if (this.#preparing.has(owner)) return;
    this.#preparing.add(owner);
    void this.#pool
      .create(owner)
      .catch(() => undefined)
      .finally(() => this.#preparing.delete(owner));
  }

  /** Begins a list. With `stepMs`, the beginning and each later step may take that, instead of the owner's time. */
  beginList(owner: IsolateOwner, list: ListBeginning, stepMs?: number): MaybePromise<BegunList | undefined> {
    const { name, source, head, request } = list;
    const limit = (isolate: Isolate): void => {
      if (stepMs !== undefined) isolate.timeoutMs = stepMs;
    };
    return this.#use(owner, (isolate) => {
      limit(isolate);
      if (!isolate.addList(name, source)) return undefined;
      this.#onStep();
      const answer = isolate.call('beginList', name, head, request);
      // The list has to retain the isolate in this turn: later it may be gone.
      this.#pool.retain(isolate);
      return {
        answer,
        call: (operation, texts) =>
          this.#useSame(owner, isolate, () => {
            limit(isolate);
            return isolate.call(operation, ...texts);
          }),
        release: () => this.#pool.release(owner, isolate),
      };
    });
  }

  dispose(owner: IsolateOwner): void {
    this.#pool.dispose(owner);
  }

  #perform(isolate: Isolate, { functions, operation, texts, rows }: FunctionCall, sliceMs?: number): CallAnswer {
    const startedAt = this.#clock.monotonic();
    const beginStep = (): void => {
      if (sliceMs === undefined) return;
      isolate.timeoutMs = sliceMs - (this.#clock.monotonic() - startedAt);
      if (isolate.timeoutMs <= 0) throw new IsolateFailure('time');
    };
    const numbers: string[] = [];
    for (const source of functions?.sources ?? []) {
      beginStep();
      numbers.push(isolate.add(functions?.kind ?? 'addMap', source));
      this.#onStep();
    }
    beginStep();
    const passed = functions === undefined ? texts : [numbers.join(','), ...texts];
    const text = operation === 'compile' ? '' : callWithRows(isolate, operation, passed, rows);
    return { text, ms: this.#clock.monotonic() - startedAt };
  }

  #use<T>(owner: IsolateOwner, work: (isolate: Isolate) => T): MaybePromise<T> {
    return whenReady(this.#isolateOf(owner), (isolate) => this.#guard(owner, isolate, () => work(isolate)));
  }

  /** Returns the owner's isolate. Creating one takes up to 10 ms, so it is not begun in a turn that has lasted long. */
  #isolateOf(owner: IsolateOwner): MaybePromise<Isolate> {
    const room = this.#pool.has(owner) ? undefined : roomInTurn();
    return whenReady(room, () => this.#pool.getNow(owner) ?? this.#pool.create(owner));
  }

  #useSame<T>(owner: IsolateOwner, isolate: Isolate, work: () => T): T {
    if (!this.#pool.owns(owner, isolate)) throw listLost();
    return this.#guard(owner, isolate, work);
  }

  #guard<T>(owner: IsolateOwner, isolate: Isolate, work: () => T): T {
    isolate.timeoutMs = owner.options.timeoutMs;
    try {
      const result = work();
      this.#pool.disposeGrown(owner);
      return result;
    } catch (failure) {
      if (failure instanceof IsolateFailure) this.#pool.dispose(owner);
      throw failure;
    }
  }
}

function callWithRows(
  isolate: Isolate,
  operation: OperationName,
  texts: readonly CallText[],
  rows: readonly CallText[] | undefined,
): string {
  if (rows === undefined) return isolate.call(operation, ...texts);
  const chunks: string[] = [];
  let length = 0;
  let next = 0;
  let isTooLong = false;
  const text = isolate.callList(texts, (sent) => {
    length += sent.length;
    isTooLong ||= length > LIST_BYTES;
    if (isTooLong) return '';
    chunks.push(sent);
    return rows[next++] ?? '';
  });
  // Not thrown in the callback, since the function could catch that.
  if (isTooLong) throw listTooLarge();
  const at = text.indexOf(SEPARATOR) + 1;
  return `${text.slice(0, at)}${chunks.join('')}${text.slice(at)}`;
}
