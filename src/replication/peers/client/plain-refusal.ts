/** What is shown of a refusal by a server that the asker may not be able to reach: only the family's standard words, none of the server's own. */

const ERRORS: ReadonlySet<string> = new Set([
  ...['bad_content_type', 'bad_request', 'conflict', 'content_md5_mismatch', 'doc_validation', 'document_too_large'],
  ...['file_exists', 'forbidden', 'illegal_database_name', 'insufficient_storage', 'internal_server_error'],
  ...['method_not_allowed', 'missing_stub', 'not_acceptable', 'not_found', 'not_implemented', 'precondition_failed'],
  ...[
    'request_entity_too_large',
    'service_unavailable',
    'timeout',
    'too_many_requests',
    'unauthorized',
    'unknown_error',
  ],
]);
/** Reasons that say what is missing. */
const REASONS: ReadonlySet<string> = new Set(['no_db_file', 'missing', 'deleted', 'Database does not exist.']);

interface Refusal {
  readonly error: string;
  readonly reason: string;
}

/** Returns the error's name if it is one of the family's, else the status. */
export function plainRefusal({ error, reason }: Refusal, status: number): Refusal {
  return { error: ERRORS.has(error) ? error : String(status), reason: REASONS.has(reason) ? reason : '' };
}
