import { WordedError } from '../errors/database-error.ts';

/** The error of a query that can't be run: 400 with the error name that this interface has for it (docs/http.md#find-errors). */
export function queryError(name: string, reason: string): WordedError {
  return new WordedError('bad_request', name, reason);
}

export function badArgument(operator: string, argument: unknown, remedy: string): WordedError {
  return queryError('bad_arg', `Bad argument for operator ${operator}: ${excerpt(argument)}. ${remedy}`);
}

/** A value for the text of an error: the beginning of its JSON. */
export function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? 'undefined';
  return text.length > MAX_EXCERPT ? `${text.slice(0, MAX_EXCERPT)}…` : text;
}

const MAX_EXCERPT = 200;
