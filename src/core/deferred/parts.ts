/** The parts loaded on first use, and on which others each of them depends. Nothing is loaded here. */
import type { Access } from '../../accounts/access/access.ts';
import { functionsUnavailable, isDatabaseError } from '../../base/errors/database-error.ts';
import { type MaybePromise, orElse } from '../../base/shared/maybe-promise.ts';
import type { ConfigStore } from '../../base/system/contract.ts';
import type { Counters } from '../../base/system/counters.ts';
import type { Registry } from '../../database/registry/contract.ts';
import type { AccountsPart } from '../../http/server/accounts/accounts-part.ts';
import type { AdministrationOptions, DeferredCode, LoadDeferredCode, ViewOptions } from './contract.ts';
import { Deferred } from './deferred.ts';

export interface PartsOptions extends AdministrationOptions, Omit<ViewOptions, 'databases' | 'sandbox'> {
  readonly load: LoadDeferredCode;
  readonly config: ConfigStore;
  readonly counters: Counters;
  /** Called when a part is first used: the parts exist before the databases are open. */
  readonly registry: () => Registry;
  readonly access: () => Access;
}

export type Parts = ReturnType<typeof deferParts>;

export function deferParts({ load, registry, access, ...needs }: PartsOptions) {
  const code = new Deferred(() => loadCode(load));
  const queryServer = new Deferred(
    () => code.use((loaded) => loaded.queryServer(needs)),
    (server) => server.close(),
  );
  const accounts: Deferred<AccountsPart> = new Deferred(
    () =>
      code.use((loaded) =>
        loaded.accounts({
          ...needs,
          databases: registry(),
          accountsVersion: () => access().accountsVersion,
          onSessionEnd: (name) => access().sessionEnded(name),
        }),
      ),
    (part) => part.close(),
  );
  const views = new Deferred(
    () =>
      queryServer.use(({ sandbox }) =>
        code.use((loaded) => loaded.views({ ...needs, databases: registry(), sandbox })),
      ),
    (service) => service.close(),
  );
  const design = new Deferred(() =>
    views.use(({ service }) =>
      queryServer.use(({ programs }) => code.use((loaded) => loaded.design({ programs, views: service }))),
    ),
  );
  const find = new Deferred(() =>
    views.use(({ service }) => code.use((loaded) => loaded.find(service, needs.clock, needs.config))),
  );
  const administration = new Deferred(() => code.use((loaded) => loaded.administration(needs)));
  return { code, queryServer, accounts, views, design, find, administration };
}

function loadCode(load: LoadDeferredCode): MaybePromise<DeferredCode> {
  return orElse(load, (cause) => {
    throw functionsUnavailable('The code that runs views, queries and functions of documents', cause);
  });
}

/** Replaces plain passwords of server admins by their hashes at once; requests wait for that if it matters. */
export function hashAdmins({ accounts }: Parts, { config, log }: Pick<PartsOptions, 'config' | 'log'>): void {
  if (Object.keys(config.section('admins')).length === 0) return;
  const hashed = orElse(
    () => accounts.use((part) => part.settled()),
    (error) => log.error("The code of accounts can't be loaded; the next request that needs it tries again.", error),
  );
  // Both results are handled: this never rejects.
  void hashed;
}

/** Builds the indexes of a database in the background: the first query then need not wait for one. */
export function buildSoon({ views }: Parts, database: string, { log }: Pick<PartsOptions, 'log'>): void {
  const begun = orElse(
    () => views.use((service) => service.buildSoon(database)),
    (error) => {
      if (isDatabaseError(error, 'shutting_down')) return;
      log.info(`no index is built in the background in ${database}: ${String(error)}`);
    },
  );
  // Both results are handled: this never rejects.
  void begun;
}
