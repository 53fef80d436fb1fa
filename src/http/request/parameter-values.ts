/** Values of parameters, from a query string or from JSON, with the error texts of docs/http/bulk.md#parameter-errors. */
import { DatabaseError } from '../../base/errors/database-error.ts';

/** A whole number, 0 or larger. Fails with `query_parse_error`. */
export function parseCount(value: unknown): number {
  const text = shortText(value);
  const number = /^[+-]?\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw parseError(`Invalid value for integer: ${text}`);
  if (number < 0) throw parseError(`Invalid value for positive integer: ${text}`);
  return number;
}

/** `true` or `false` in any case. Fails with `query_parse_error`. */
export function parseBoolean(value: unknown): boolean {
  const text = shortText(value).toLowerCase();
  if (text === 'true') return true;
  if (text === 'false') return false;
  throw parseError(`Invalid boolean parameter: ${shortText(value)}`);
}

/** Returns the value as text. Converting a list or an object to text could take any time and any depth. */
export function shortText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value) ? '[…]' : '{…}';
}

export function parseError(reason: string): DatabaseError {
  return new DatabaseError('query_parse_error', reason);
}
