/**
 * `settee`, for pages: starts the database of a base and speaks to it. One service per base and page, however often it is started.
 */
import { absoluteBase } from './addresses.ts';
import type { Settee, StartOptions } from './contract.ts';
import { PageClient } from './page-client.ts';

export type { Settee, SetteeStatus, StartOptions } from './contract.ts';

const started = new Map<string, Promise<Settee>>();

const NO_PAGE =
  'start works in pages alone, and this is none. Where pages are rendered on a server too, call it in the browser only; in tests use ' +
  'settee/msw; for a database on Node there is the package settee-server';

/**
 * Starts the database below `base` and resolves when it answers and, where the browser has service workers, one controls this
 * page; with `waitFor: 'database'` as soon as it answers. For a base that is started already gives what that gave; the options of the first
 * call count.
 *
 * Rejects with an Error that says what to do when something is in the way: a base that can't be one, no page, no IndexedDB, an insecure
 * address, a script that is not where it is looked for, a Content-Security-Policy.
 */
export async function start(options: StartOptions): Promise<Settee> {
  if (!options?.base) throw new TypeError('start needs a base, such as /db/');
  if (typeof document === 'undefined') throw new Error(NO_PAGE);
  const base = absoluteBase(options.base, options.worker);
  let settee = started.get(base);
  if (!settee) {
    // A service that was started since is another one.
    const forget = () => {
      if (started.get(base) === settee) started.delete(base);
    };
    settee = new PageClient({ ...options, base }, forget).opened;
    settee.catch(forget);
    started.set(base, settee);
  }
  return settee;
}
