import { DatabaseError } from './database-error.ts';

/** What few requests need, and what was to be loaded for them, is not there; whoever asks again may get it. */
export function functionsUnavailable(what: string, cause: unknown): DatabaseError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new DatabaseError('functions_unavailable', `${what} could not be loaded: ${why}`, { cause });
}
