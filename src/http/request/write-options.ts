/** How a request wants its documents written. */
import type { Durability, WriteOptions } from '../../database/contract.ts';
import type { Context } from './context.ts';

/** As `newEdits` says, as whoever sent the request. */
export function writeOptions(context: Context, newEdits: boolean): WriteOptions {
  return { newEdits, durability: durabilityOf(context), user: context.user };
}

/**
 * `X-Svc-Full-Commit: true` has the answer wait until the write survives a power cut. With `false`, and without the
 * header, it survives the end of the process, which is more than `delayed_commits` ever promised.
 */
export function durabilityOf(context: Context): Durability {
  return context.ownHeader('full-commit') === 'true' ? 'strict' : 'relaxed';
}
