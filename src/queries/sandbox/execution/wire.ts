/**
 * The messages between the thread that calls functions (worker-pool.ts) and a worker that runs them (sandbox-worker.ts). They are
 * plain data, and both ends are of one build.
 */
/// <reference path="../isolates/virtual-modules.d.ts" />
import { SANDBOX_PROGRAM_HASH } from 'virtual:sandbox-program';
import { DatabaseError, type ErrorCode, isDatabaseError, RefusalError } from '../../../base/errors/database-error.ts';
import { ThrownError } from '../contract.ts';
import { type FailureKind, IsolateFailure } from '../isolates/call-failures.ts';
import type { PoolLimits } from '../isolates/isolate-pool.ts';
import type { CompiledWasm } from '../isolates/quickjs-instance.ts';
import type { FunctionCall, ListBeginning } from './function-call.ts';
import type { CallText } from './long-texts.ts';

/** Increased with each change of the messages below. */
const MESSAGES_VERSION = 3;

/**
 * A worker of another version is not used: after an update of the app, or of a running server, the file that workers are started from may
 * be from another build than the thread that starts them.
 */
export const WIRE_VERSION = `${MESSAGES_VERSION} ${SANDBOX_PROGRAM_HASH}`;

/** A program, as a worker knows it. */
export interface WireProgram {
  readonly designId: string;
  readonly designDocument: string;
  readonly timeoutMs: number;
  readonly memoryBytes: number;
}

export type ToWorker =
  | { readonly type: 'start'; readonly compiled: CompiledWasm; readonly limits: PoolLimits }
  /** Calls name programs by number. */
  | { readonly type: 'open'; readonly program: number; readonly source: WireProgram }
  | { readonly type: 'forget'; readonly program: number }
  | { readonly type: 'call'; readonly program: number; readonly call: FunctionCall }
  | { readonly type: 'beginList'; readonly program: number; readonly list: ListBeginning }
  /** `list`: the number in the answer to `beginList`. */
  | {
      readonly type: 'callList';
      readonly list: number;
      readonly operation: 'resumeList' | 'dropList';
      readonly texts: readonly CallText[];
    }
  | { readonly type: 'releaseList'; readonly list: number };

/** `call`, `beginList` and `callList` are answered in their order. */
export type FromWorker =
  | { readonly type: 'ready'; readonly version: string }
  /** One of several steps of a call is done; the next one has its time for itself. */
  | { readonly type: 'step' }
  /** The worker holds memory that only its end is sure to free. */
  | { readonly type: 'spent' }
  | { readonly type: 'answer'; readonly answer: WireAnswer; readonly messages: readonly string[] }
  | { readonly type: 'failure'; readonly failure: WireFailure; readonly messages: readonly string[] };

/** Returns the texts that a question passes to an isolate and that may be long. */
export function longTextsOf(
  question: Extract<ToWorker, { type: 'call' | 'beginList' | 'callList' }>,
): readonly CallText[] {
  if (question.type === 'call') return [...question.call.texts, ...(question.call.rows ?? [])];
  return question.type === 'callList' ? question.texts : [];
}

export interface WireAnswer {
  readonly text: string;
  readonly ms: number;
  /** The number of a list that now waits. */
  readonly list?: number;
  /** The list's source can't wait. */
  readonly isUnfit?: boolean;
}

export type WireFailure =
  | { readonly kind: FailureKind }
  | { readonly refusal: 'forbidden' | 'unauthorized'; readonly value: unknown }
  | { readonly code: string; readonly reason: string }
  | { readonly word: string; readonly reason: string };

export function toWireFailure(error: unknown): WireFailure {
  if (error instanceof IsolateFailure) return { kind: error.kind };
  if (error instanceof ThrownError) return { word: error.word, reason: error.reason };
  if (error instanceof RefusalError) return { refusal: error.refusal, value: error.value };
  if (isDatabaseError(error)) return { code: error.code, reason: error.reason };
  return { kind: 'fault' };
}

export function fromWireFailure(failure: WireFailure): DatabaseError {
  if ('kind' in failure) return new IsolateFailure(failure.kind);
  if ('word' in failure) return new ThrownError(failure.word, failure.reason);
  if ('refusal' in failure) return new RefusalError(failure.refusal, failure.value);
  return new DatabaseError(failure.code as ErrorCode, failure.reason);
}
