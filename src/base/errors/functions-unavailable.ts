import { DatabaseError } from './database-error.ts';

/** Code or a file that is loaded on first use could not be loaded. The next request that needs it tries again. */
export function functionsUnavailable(what: string, cause: unknown): DatabaseError {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new DatabaseError('functions_unavailable', `${what} could not be loaded: ${why}`, { cause });
}
