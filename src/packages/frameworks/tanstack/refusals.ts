import { SetteeError } from '../../database-client/index.ts';
import type { Refused } from '../../interface/documents.ts';

const STATUS_OF: Readonly<Record<string, number>> = {
  conflict: 409,
  forbidden: 403,
  unauthorized: 401,
  document_too_large: 413,
};

/**
 * Whether the same read may succeed later: there was no response, or one that says so; or somebody may log in, or create the database or the view.
 */
export function mayEnd(error: unknown): boolean {
  if (!(error instanceof Error && 'status' in error)) return error instanceof TypeError;
  return [401, 403, 404, 429, 502, 503, 504].includes(Number(error.status));
}

export function conflictOf(reason: unknown): SetteeError {
  return new SetteeError(409, 'conflict', reason);
}

/** A row of a bulk write as the error that the same write alone has. */
export function refusalOf({ error, reason, failures }: Refused): SetteeError {
  return new SetteeError(STATUS_OF[error] ?? 400, error, reason, failures);
}
