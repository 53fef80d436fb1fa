import type { ErrorCode } from '../../errors/database-error.ts';
import { DatabaseError } from '../../errors/database-error.ts';

/** Rows of a view, next to each other, as texts. */
export interface RowList {
  readonly length: number;
  /** JSON text. */
  keyText(index: number): string;
  /** JSON text. */
  idText(index: number): string;
  /** JSON text. */
  valueText(index: number): string;
}

/**
 * One reduce of a view. Reductions are texts, since that is how they are stored and how they cross into the sandbox:
 * without control characters, not beginning with `!`. Synchronous and pure.
 *
 * What can't be reduced becomes a failure, which is stored like any reduction and comes out where a query's range has
 * it: one value of a wrong type spoils neither the index nor queries that don't meet it.
 */
export interface Reducer {
  /** Never called with no rows. */
  reduce(rows: RowList): string;
  /** Never called with none, nor with failures. */
  rereduce(reductions: readonly string[]): string;
  /** The JSON text that a query answers with. Default: the reduction itself. */
  result?(reduction: string): string;
}

const FAILURE_MARK = '!';
/** Characters of a built-in reduction, at most. Every page of an index has the reductions of those below it. */
const MAX_LENGTH = 65_536;

export function failedReduction(code: ErrorCode, reason: string): string {
  return FAILURE_MARK + JSON.stringify([code, reason]);
}

/** A built-in reduction whose length depends on what was emitted, or a failure where it is too long to be kept. */
export function checkedReduction(name: string, reduction: string): string {
  if (reduction.length <= MAX_LENGTH) return reduction;
  const reason = `The result of ${name} has ${reduction.length} characters, more than ${MAX_LENGTH}. Emit shorter values.`;
  return failedReduction('reduce_overflow_error', reason);
}

export function isFailed(reduction: string): boolean {
  return reduction.startsWith(FAILURE_MARK);
}

/** The error that a failed reduction stands for. */
export function failureOf(reduction: string): DatabaseError {
  const [code, reason] = JSON.parse(reduction.slice(FAILURE_MARK.length)) as [ErrorCode, string];
  return new DatabaseError(code, reason);
}

/** Several reductions of one reducer as one: the first failure among them, if there is any. */
export function combineReductions(reducer: Reducer, reductions: readonly string[]): string {
  return reductions.find(isFailed) ?? reducer.rereduce(reductions);
}

/** The value of a JSON number's text; undefined for any other JSON text. */
export function numberOf(text: string): number | undefined {
  const code = text.charCodeAt(0);
  return code === 0x2d || (code >= 0x30 && code <= 0x39) ? Number(text) : undefined;
}

/** JSON has no infinity: what is beyond all doubles keeps its sign as the largest of them. */
export function toFinite(value: number): number {
  return Number.isFinite(value) ? value : Math.sign(value) * Number.MAX_VALUE;
}
