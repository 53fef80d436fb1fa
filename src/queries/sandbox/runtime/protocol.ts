/**
 * The protocol between the program inside a sandbox and its caller outside. A call names an operation and passes up to three texts. The
 * answer is one text: the messages that functions logged (a JSON array, empty without any), a separator, then `R` with the result or `E`
 * with a failure, the JSON array `[code, word, reason]`.
 */

/** Between the texts of a call and the fields of an answer. JSON text can't contain it: control characters are escaped there. */
export const SEPARATOR = '\x1e';

export type OperationName =
  | 'begin'
  | 'addMap'
  | 'addReducer'
  | 'map'
  | 'reduce'
  | 'rereduce'
  | 'filter'
  | 'filterByView'
  | 'validate'
  | 'show'
  | 'update'
  | 'list'
  | 'addList'
  | 'beginList'
  | 'resumeList'
  | 'dropList';

/** What `addList` takes of a list function. */
export interface ResumableSource {
  /** The same function, or one that returns a generator of its result. */
  readonly text: string;
  /**
   * The same with `async` and `await` in place of `*` and `yield`: it compiles only if each `yield` belongs to a
   * function that is a generator, so QuickJS's own parser checks what is concluded here.
   */
  readonly check: string;
}
