import type { DatabaseError } from '../errors/database-error.ts';

/** A row of the answer to `_bulk_docs`: what was written, or what was refused and why. */
export type BulkRow =
  | { readonly ok: true; readonly id: string; readonly rev: string }
  | { readonly ok: false; readonly id: string; readonly rev: string | undefined; readonly error: DatabaseError };
