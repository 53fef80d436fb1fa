/** What functions of documents throw and log, and how it leaves the sandbox. */
import { hasOwn, isObject, parse, shorten, textOf } from './values.ts';

/** QuickJS throws this when memory runs out. */
declare const InternalError: ErrorConstructor;

/** An error for the host; no function of a document is meant to see it. */
export class Failure {
  readonly code: string;
  readonly word: string;
  /** Any JSON value for refusals, else text. */
  readonly reason: unknown;

  constructor(code: string, word: string, reason: unknown) {
    this.code = code;
    this.word = word;
    this.reason = reason;
  }
}

/** Describes anything that was thrown; getters and `toString` of documents' functions may throw in turn. */
export function describe(thrown: unknown): string {
  try {
    if (thrown instanceof Failure) return `${thrown.code}: ${thrown.reason}`;
    if (isObject(thrown) && typeof thrown['message'] === 'string') {
      return shorten(`${thrown['name']}: ${thrown['message']}`, 500);
    }
    return shorten(typeof thrown === 'string' ? thrown : textOf(thrown), 500);
  } catch {
    return 'an error that cannot be shown';
  }
}

export function isOutOfMemory(thrown: unknown): boolean {
  return thrown instanceof InternalError && thrown.message === 'out of memory';
}

/** Returns whether a function threw `["fatal", error, reason]`, which ends more than the call for one document. */
export function isFatal(thrown: unknown): boolean {
  return Array.isArray(thrown) && thrown[0] === 'fatal';
}

/** Returns the failure for what a function threw: a refusal, `["error", word, reason]`, `{error, reason}`, an Error, or anything else. */
export function toFailure(thrown: unknown): Failure {
  if (thrown instanceof Failure) return thrown;
  try {
    if (isOutOfMemory(thrown)) return new Failure('memory', '', '');
    const refusal = toRefusal(thrown);
    if (refusal !== undefined) return refusal;
    if (Array.isArray(thrown) && (thrown[0] === 'error' || thrown[0] === 'fatal')) {
      return new Failure('function_error', `${thrown[1]}`, reasonOf(thrown[2]));
    }
    if (isObject(thrown)) {
      if (thrown['error'] && thrown['reason']) {
        return new Failure('function_error', `${thrown['error']}`, reasonOf(thrown['reason']));
      }
      if (thrown['name']) return new Failure('function_error', `${thrown['name']}`, reasonOf(thrown['message']));
    }
  } catch {
    // A getter or `toString` of the thrown value throws as well.
  }
  // QuickJS also throws null if there is too little memory for an error.
  const reason = thrown === null ? 'null was thrown: by the function, or since its memory ran out' : describe(thrown);
  return new Failure('function_error', 'unnamed_error', reason);
}

/** Like `toFailure`, for validations: anything that is neither a refusal nor names its own error is an unknown error. */
export function toValidationFailure(thrown: unknown): Failure {
  const failure = toFailure(thrown);
  const isNamed = thrown instanceof Failure || Array.isArray(thrown) || failure.code !== 'function_error';
  return isNamed ? failure : new Failure('function_error', 'unknown_error', describe(thrown));
}

const REFUSALS = ['forbidden', 'unauthorized'];

/** Returns what `{forbidden: reason}`, `["forbidden", reason]` and `["error", "forbidden", reason]` say, and the same with `unauthorized`. */
function toRefusal(thrown: unknown): Failure | undefined {
  if (Array.isArray(thrown)) {
    const [word, reason]: readonly unknown[] = thrown[0] === 'error' ? thrown.slice(1) : thrown;
    return REFUSALS.includes(word as string) ? refusal(word as string, reason) : undefined;
  }
  if (!isObject(thrown)) return undefined;
  const code = REFUSALS.find((name) => hasOwn(thrown, name));
  return code === undefined ? undefined : refusal(code, thrown[code]);
}

/** Creates a refusal. A reason that has no JSON text, such as a function, becomes null. */
function refusal(code: string, reason: unknown): Failure {
  return new Failure(code, '', parse(textOf(reason)));
}

/** Returns the text of `[code, word, reason]`. */
export function toFailureText({ code, word, reason }: Failure): string {
  return textOf([code, word, reason]);
}

function reasonOf(reason: unknown): string {
  return typeof reason === 'string' ? reason : textOf(reason);
}

/** Messages of one call, and characters of a message. */
const MAX_MESSAGES = 100;
const MAX_LENGTH = 1000;

const messages: string[] = [];

/** The helper `log`. Messages are kept until the call ends, and bounded, so that a function can't flood the service's log. */
export function log(message: unknown): void {
  if (messages.length >= MAX_MESSAGES) return;
  messages.push(shorten(typeof message === 'string' ? message : describe(message), MAX_LENGTH));
}

/** Returns the messages so far as a JSON array, and forgets them; empty if there are none. */
export function takeMessages(): string {
  return messages.length > 0 ? textOf(messages.splice(0)) : '';
}
