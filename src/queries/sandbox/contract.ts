/**
 * Functions that come from documents run behind this contract and nowhere else
 * (docs/internals.md#functions-of-design-documents). Sources, documents and results cross it as text: no object of the host
 * is ever reachable from a document's function.
 *
 * An isolate runs the functions of one design document of one database, with its own globals and memory. A call whose program has
 * its isolate runs in the same turn, and ends within `timeoutMs`: a caller with much to do passes batches, and yields between
 * them. If an isolate must be created first, the call returns a promise.
 *
 * Except for a list that waits for rows, a program holds nothing that must be released. Its isolate is created when a call needs it. It is
 * disposed when another program needs one and this one is the least recently used, when no one has opened the program for a
 * long time, and by `close`.
 */
import { CustomCodeError, type DatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';

/** The language of the functions that a sandbox runs. */
export const SCRIPT_LANGUAGE = 'javascript';

export interface ProgramSource {
  /**
   * The database whose functions may share an isolate, by a name that no other database ever has. What one database's functions
   * leave in their globals is never seen by those of another, even if their design documents are the same.
   */
  readonly scope: string;
  /** Identifies the design document: a view signature, or the document's id and revision. */
  readonly signature: string;
  /** For the texts of errors: `_design/name`. */
  readonly designId: string;
  /**
   * JSON text of an object: what `require` resolves in, `this` of filters, shows, lists and updates, and where those are
   * found by name. For maps and reduces pass `{"views":{"lib":…}}` alone, since their signature covers no more.
   */
  readonly designDocument: string;
  /** For one document, one reduction or one request (`os_process_timeout`, 5,000 by default). */
  readonly timeoutMs: number;
  /**
   * The limit of the functions' own data, as QuickJS counts it: single large blocks and very many small ones. Default 64 MB. The total
   * of an isolate is bounded by the memory of its WebAssembly (`isolates/quickjs-instance.ts`).
   */
  readonly memoryBytes?: number;
  /** Receives what functions log by `log()`, and which documents a map skipped. At most 100 messages a call. */
  log(message: string): void;
}

export interface Sandbox {
  /** Returns the program of (scope, signature). The first call loads QuickJS, and fails with `not_implemented` if that fails. */
  open(source: ProgramSource): Promise<Program>;
  /** Disposes every isolate. Later calls of programs fail with `shutting_down`. */
  close(): void;
}

/**
 * Every method fails with `compilation_error` on a source that is not a function, with `os_process_error` when time
 * ("OS process timed out.") or memory runs out, with `invalid_require_path`, and, those of functions by name, with
 * `not_found` "missing <kind> function <name> on design doc <id>". Each method says what else it fails with.
 */
export interface Program {
  /** Compiles at once. Pass distinct sources only: a view that has the map of another shares its rows. */
  mapper(maps: readonly string[]): MaybePromise<Mapper>;
  /** Compiles at once. */
  reducer(source: string, limit: ReduceLimit): MaybePromise<Reducer>;
  /** Whether the design document has `validate_doc_update`. */
  readonly validates: boolean;
  /**
   * Returns one outcome for each write, undefined if it passes: `forbidden`, `unauthorized`, `ThrownError` (500), or
   * `os_process_error` if it overflowed the stack.
   */
  validate(writes: readonly ValidatedWrite[]): MaybePromise<readonly (DatabaseError | undefined)[]>;
  /** Returns whether each document passes. Documents are JSON texts; a throw fails the call with `ThrownError`. */
  filter(name: string, documents: readonly string[], request: string): MaybePromise<readonly boolean[]>;
  /** Filters by a view: a document passes if the map of `views.<name>` emits for it; one for which it throws does not pass. */
  filterByView(name: string, documents: readonly string[]): MaybePromise<readonly boolean[]>;
  /**
   * Runs a show. `document` and `request` are JSON texts (`null` for none); the request has an `id` if the path named a
   * document. Fails with `render_error`, `not_found` "document not found", `not_acceptable`, or `ThrownError`.
   */
  show(name: string, document: string, request: string): MaybePromise<FunctionResponse>;
  update(name: string, document: string, request: string): MaybePromise<UpdateResult>;
  /**
   * Runs a list function over `rows`, up to its first row in this call, then further as its output is read: a batch of rows at a
   * time, with `timeoutMs` for each. This requires a function that calls `getRow()` by its name, in itself or in what it passes to
   * `provides` (programs/resumable-source.ts). Any other receives all rows at once, at most `LIST_BYTES` of them, and runs to its end here.
   * Fails with `too_large` if rows or output exceed that, and as `show` does.
   */
  list(name: string, head: string, request: string, rows: RowSource): Promise<ListResult>;
  /** Disposes the isolate now. The program may still be called, and then gets another. */
  close(): void;
}

/** The longest text of the rows, or of the output, of a list that can't wait for its rows. */
export const LIST_BYTES = 64 * 1024 * 1024;

export interface Mapper {
  /**
   * How many documents take about 8 ms, or 25 ms in another thread, judged by the calls so far: pass that many at a time, and yield to
   * other work between the calls. 1 to 1,000; begins at 100.
   */
  readonly batchSize: number;
  /** How many calls may run at a time, in their own threads. 1 if they have none. */
  readonly concurrency: number;
  /**
   * Maps `documents`, JSON texts of objects with `_id` and `_rev`. A map that throws skips that document for that map
   * (logged); `throw ["fatal", error, reason]` fails the call with `ThrownError`. One result per map function. A single document on
   * which a map runs out of memory, or whose rows are too large, is left out (logged); if time runs out, the call fails. If the
   * documents emit very much, the results are those of the first ones only, as many as `counts` has: pass the others again.
   */
  map(documents: readonly string[]): MaybePromise<readonly MappedRows[]>;
  /** Like `map`, for a single document. */
  mapLong(document: LongDocument): Promise<readonly MappedRows[]>;
}

/** A document whose text is so long that it is not held as a whole if that can be avoided. */
export interface LongDocument {
  readonly id: string;
  /** Returns its minified JSON text, with `_id` and `_rev`, from its beginning each time. */
  pieces(): AsyncIterable<string>;
}

/** What one map function emitted for a batch. All texts are JSON, as short as possible, and have no control characters. */
export interface MappedRows {
  /** How many rows each document emitted, in the order of the documents. */
  readonly counts: readonly number[];
  /** The keys of all rows: documents in order, and each document's in the order of emission. */
  readonly keys: readonly string[];
  /** Their values. */
  readonly values: readonly string[];
  /** The positions of documents that the map could not finish, or whose rows are too large; they have no rows. */
  readonly leftOut?: readonly number[];
}

/** `log` lets a result pass that does not shrink, and only logs it (setting `query_server_config/reduce_limit`). */
export type ReduceLimit = 'true' | 'false' | 'log';

/**
 * Synchronous, since trees reduce within one turn; throws `Pending` if a call takes long, and returns its result when it is called again.
 * Each call reduces any number of groups, and returns JSON text for each: `null` if the function threw or returned nothing.
 * Fails with `reduce_overflow_error` if a result is over 200 bytes and more than half of its input.
 */
export interface Reducer {
  reduce(groups: readonly ReduceGroup[]): readonly string[];
  /** Each group is the JSON text of an array of earlier results. */
  rereduce(groups: readonly string[]): readonly string[];
}

export interface ReduceGroup {
  /** JSON text: `[[key,id],…]`. */
  readonly keys: string;
  /** JSON text: `[value,…]`. */
  readonly values: string;
}

/** All JSON texts. */
export interface ValidatedWrite {
  /** With `_id`, `_rev`, `_revisions`, `_deleted` if deleted, and attachment stubs. */
  readonly newDocument: string;
  /** `null` without one. */
  readonly oldDocument: string;
  readonly userContext: string;
  readonly securityObject: string;
}

/** The response of a show or an update. */
export interface FunctionResponse {
  /** Undefined: 200 (201 for an update that saves). */
  readonly code: number | undefined;
  /** As the function named them. `Content-Type` is present if the function, `provides`, `json` or `base64` chose one. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

export interface UpdateResult {
  /** JSON text of the document to save; undefined if the function returned none. */
  readonly document: string | undefined;
  readonly response: FunctionResponse;
}

/** Batches of rows, each the JSON text of an array that is not empty; undefined at the end. */
export interface RowSource {
  next(): MaybePromise<string | undefined>;
  /** Signals that no more rows are wanted. Not called if the function fails before it takes any. */
  close?(): void;
}

export interface ListResult {
  readonly code: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  /**
   * The body, to be read once; it ends with `close`. Fails if the function does, or with `os_process_error` if its
   * isolate was disposed meanwhile: another function of the design document failed in it, or many other design documents needed isolates.
   */
  chunks(): AsyncGenerator<string, void, void>;
  /** Must be called if `chunks` is not read to its end. May be called more than once. */
  close(): void;
}

/** A function threw an error with its own wording: `{"error": word, "reason": reason}` with status 500. */
export class ThrownError extends CustomCodeError {
  constructor(word: string, reason: string) {
    super('function_error', word, reason);
    this.name = 'ThrownError';
  }
}
