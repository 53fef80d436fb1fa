/**
 * A call of a sandbox, as plain data: it runs in this thread, or is sent to a worker unchanged. The executor that runs it
 * starts the program's isolate if there is none, and compiles what is not yet compiled there.
 */
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { IsolateOwner } from '../isolates/isolate-pool.ts';
import type { OperationName, ResumableSource } from '../runtime/protocol.ts';
import { type CallText, lengthOfText } from './long-texts.ts';

export interface FunctionCall {
  /** Functions to compile first. The first text of the operation is then their numbers, separated by commas. */
  readonly functions?: CompiledFunctions;
  readonly operation: OperationName | 'compile';
  readonly texts: readonly CallText[];
  /** All rows, for `list`, in batches. Everything that the function sent follows the head. */
  readonly rows?: readonly CallText[];
}

interface CompiledFunctions {
  readonly kind: 'addMap' | 'addReducer';
  readonly sources: readonly string[];
}

/** A list function that can wait for its rows, and what it is called with. */
export interface ListBeginning {
  readonly name: string;
  readonly source: ResumableSource;
  readonly head: string;
  readonly request: string;
}

/** A list that waits in its isolate. It has to be released. */
export interface BegunList {
  /** What `beginList` returned. */
  readonly answer: string;
  /** Calls the isolate in which the list waits; fails with `os_process_error` if it is gone. */
  call(operation: 'resumeList' | 'dropList', texts: readonly CallText[]): MaybePromise<string>;
  release(): void;
}

export interface CallAnswer {
  readonly text: string;
  /** Milliseconds that the call took where it ran. */
  readonly ms: number;
}

/** Fails with `IsolateFailure` if the isolate could not end the call, and as functions fail. */
export interface Executor {
  run(owner: IsolateOwner, call: FunctionCall): MaybePromise<CallAnswer>;
  /** Runs a list up to its first row. Returns undefined if its source does not compile as one that can wait. */
  beginList(owner: IsolateOwner, list: ListBeginning): MaybePromise<BegunList | undefined>;
}

/** Returns how many characters a call passes to its isolate. */
export function lengthOf({ functions, texts, rows = [] }: FunctionCall): number {
  const sum = (list: readonly CallText[]): number => list.reduce((length, text) => length + lengthOfText(text), 0);
  return sum(functions?.sources ?? []) + sum(texts) + sum(rows);
}
