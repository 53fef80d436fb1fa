/**
 * `settee`, for pages: starts the database of a base and accesses it. One service per base and page, which all calls of `start` share.
 */

import type { Settee, StartOptions } from './contract.ts';
import { PageClient } from './page-client.ts';
import { PageUser, type PageUsers } from './page-user.ts';
import { absoluteBase } from './scripts.ts';

export type { BearerToken, Settee, SetteeStatus, StartOptions, TokenProvider } from './contract.ts';

interface Started {
  readonly client: PageClient;
  readonly users: PageUsers;
}

const started = new Map<string, Started>();

const NO_PAGE =
  'start() works only in a page, and this is not one. If pages are also rendered on a server, call it in the browser only; in tests use ' +
  'settee/msw; for a database on Node use the package settee-server';

/**
 * Starts the database below `base` and resolves when it answers and, if the browser has service workers, one controls this
 * page; with `waitFor: 'database'` as soon as it answers. Calls for the same base share one service: each returns an object of its own, and the
 * service ends when all of them are closed.
 *
 * Rejects with an Error that says what to do when something prevents it: an invalid base, no page, no IndexedDB, an insecure
 * address, a script that is not at its expected address, a Content-Security-Policy, or options that differ from those with which the
 * service of that base runs in this page (`worker`, `serviceWorker`, `settings`, `logLevel`).
 */
export async function start(options: StartOptions): Promise<Settee> {
  if (!options?.base) throw new TypeError('start() needs a base, such as /db/');
  if (typeof document === 'undefined') throw new Error(NO_PAGE);
  const base = absoluteBase(options.base, options.worker);
  const { client, users } = serviceOf({ ...options, base });
  return new PageUser(client, users, options).opened;
}

function serviceOf(options: StartOptions): Started {
  const { base } = options;
  const known = started.get(base);
  known?.client.mustSuit(options);
  if (known) return known;
  const service = { client: new PageClient(options, () => forget()), users: new Set<PageUser>() };
  // A service that was started since is another one.
  const forget = () => {
    if (started.get(base) === service) started.delete(base);
  };
  started.set(base, service);
  return service;
}
