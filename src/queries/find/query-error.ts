import { CustomCodeError } from '../../base/errors/database-error.ts';

/** The error of a query that can't be run: 400 with the error name that this interface has for it (docs/http/find.md#find-errors). */
export function queryError(name: string, reason: string): CustomCodeError {
  return new CustomCodeError('bad_request', name, reason);
}

export function badArgument(operator: string, argument: unknown, remedy: string): CustomCodeError {
  return queryError('bad_arg', `Bad argument for operator ${operator}: ${excerpt(argument)}. ${remedy}`);
}

/** Returns a value for the text of an error: the beginning of its JSON. */
export function excerpt(value: unknown): string {
  const text = beginningOf(value, MAX_EXCERPT);
  return text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}…` : text;
}

const MAX_EXCERPT = 200;

/** Returns a value's JSON, or somewhat more than `length` characters of it: values may be as long as a request. */
function beginningOf(value: unknown, length: number): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, Math.max(0, length) + 1));
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'undefined';
  const names = Array.isArray(value) ? value.keys() : Object.keys(value);
  const [open, close] = Array.isArray(value) ? '[]' : '{}';
  let text = `${open}`;
  for (const name of names) {
    if (text.length > length) return text;
    if (text.length > 1) text += ',';
    if (typeof name === 'string') text += `${beginningOf(name, length - text.length)}:`;
    text += beginningOf(Reflect.get(value, name), length - text.length);
  }
  return text + close;
}
