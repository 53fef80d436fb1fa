/** Why a call of a function failed: the isolate could not end it, the function threw, or its list or its sandbox is gone. */
import { DatabaseError, RefusalError } from '../../../base/errors/database-error.ts';
import { isShallow } from '../../../base/json/nesting.ts';
import { assert } from '../../../base/shared/assert.ts';
import { LIST_BYTES, ThrownError } from '../contract.ts';

export type FailureKind = 'time' | 'memory' | 'stack' | 'fault';

/** A call that the isolate could not end: time or memory ran out, or it overflowed the stack where that can't be caught. */
export class IsolateFailure extends DatabaseError {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, cause?: unknown) {
    super('os_process_error', REASONS[kind], { cause });
    this.kind = kind;
  }
}

const REASONS: Readonly<Record<FailureKind, string>> = {
  time: 'OS process timed out.',
  memory: 'The function ran out of memory: let it work on less data at a time. Keep large data in attachments.',
  stack: 'The function overflowed the stack: it, or a document, is nested too deeply.',
  fault: 'The sandbox failed, and was started again. Send the request again.',
};

/** Returns a failure's text, `[code, word, reason]` (runtime/protocol.ts), as an error of the service. */
export function toCallError(text: string): DatabaseError {
  const [code, word, value] = toList(text);
  const reason = String(value);
  switch (code) {
    case 'memory':
      return new IsolateFailure('memory');
    case 'forbidden':
    case 'unauthorized':
      return new RefusalError(code, isShallow(value) ? value : 'The reason is nested too deeply to be shown.');
    case 'not_found':
    case 'not_acceptable':
    case 'compilation_error':
    case 'invalid_require_path':
    case 'render_error':
      return new DatabaseError(code, reason);
    default:
      return new ThrownError(String(word), reason);
  }
}

export function toList(json: string): readonly unknown[] {
  const list: unknown = JSON.parse(json);
  assert(Array.isArray(list), 'the program gave a list');
  return list;
}

const MEGABYTES = LIST_BYTES / 1024 / 1024;
const TOO_LARGE =
  `This list function can't wait for its rows, so it may read and send at most ${MEGABYTES} MB: call getRow() by its name in ` +
  'the list function itself, or ask for pages, with limit and startkey.';

/** The error of a list that can't wait for its rows, and has too many. */
export const listTooLarge = (): DatabaseError => new DatabaseError('too_large', TOO_LARGE);

/** The error of a list whose isolate is gone. */
export const listLost = (): DatabaseError =>
  new DatabaseError('os_process_error', 'The sandbox in which this list ran is gone. Send the request again.');

/** The error of calls of a closed sandbox. */
export const sandboxClosed = (): DatabaseError =>
  new DatabaseError(
    'shutting_down',
    'The service is closing, so it runs no more functions of documents. Send the request again later.',
  );
