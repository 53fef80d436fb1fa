/** How a request wants its documents written. */

import { booleanSetting } from '../../base/system/config.ts';
import type { Durability, WriteOptions } from '../../database/store/contract.ts';
import { clientAddress } from './client-address.ts';
import type { Context } from './context.ts';
import { commitRight } from './kept-rights.ts';

/** Returns the options for `newEdits`, with the right of the request's sender. */
export function writeOptions(context: Context, newEdits: boolean): WriteOptions {
  const durability = durabilityOf(context);
  return { newEdits, durability, user: context.user, address: clientAddress(context), right: commitRight(context) };
}

/**
 * With `X-Svc-Full-Commit: true` the response waits until the write survives a power cut, as all do while `svc/delayed_commits` is not `true`.
 * With `false`, or without the header while it is `true`, the write survives the end of the process.
 */
export function durabilityOf(context: Context): Durability {
  const wanted = context.ownHeader('full-commit');
  if (wanted === 'true' || wanted === 'false') return wanted === 'true' ? 'strict' : 'relaxed';
  return booleanSetting(context.services.config, 'svc', 'delayed_commits') ? 'relaxed' : 'strict';
}
