/** Databases in PostgreSQL, which several servers share: one owns them, and the others stand by. */
import { hostname } from 'node:os';
import { type DatabaseError, messageOf } from '../../base/errors/database-error.ts';
import { must } from '../../base/shared/assert.ts';
import type { Log } from '../../base/system/contract.ts';
import type { Members } from '../../storage/postgres/members/members.ts';
import { PostgresStorage } from '../../storage/postgres/postgres-storage.ts';
import type { LeaseOptions, StorageLease } from '../../storage/postgres/storage-lease.ts';
import { AdminGuard, adminCommand, storageAdminCommand } from '../configuration/admin-guard.ts';
import { settingsStorage } from '../configuration/configuration.ts';
import { mustHoldList } from '../data-folder/data-folder.ts';
import type { Home, HomeOptions, OtherServer, SharedHome } from './home.ts';

/** `url`: of the storage. The others: see `findHome`. */
export async function findStorage(
  { configFile, withoutAdmin = false, cluster = false, storageLeaseMs: leaseMs }: HomeOptions,
  url: string,
  log: Log,
  startLog: Log,
): Promise<Home> {
  const storage = await PostgresStorage.open(url, process.env);
  const { place, settings, history } = storage;
  history.onRollback = ({ reason }) => log.error(`${reason}.`);
  const command = configFile === undefined ? storageAdminCommand() : adminCommand(configFile, undefined);
  const options = { place, marks: settings, configFile, dataFolder: undefined, command, withoutAdmin, log };
  const shared = new SharedStorage(storage, log, { takesPart: cluster, leaseMs });
  return {
    place,
    dataFolder: undefined,
    settings: configFile === undefined ? settings : settingsStorage(configFile, startLog),
    guard: new AdminGuard(options),
    adminCommand: command,
    take: () => shared.take(),
    get isHeld() {
      return shared.isHeld;
    },
    openStore: () => storage.createStore({ followerLeaseMs: leaseMs }),
    announce: (address) => shared.announce(address),
    beginClose: () => storage.beginClose(),
    release: () => shared.release(),
    close: () => storage.close(),
    shared,
  };
}

class SharedStorage implements SharedHome {
  readonly #storage: PostgresStorage;
  readonly #log: Log;
  readonly #options: Pick<LeaseOptions, 'takesPart' | 'leaseMs'>;
  readonly machine = hostname();
  #lease: StorageLease | undefined;
  onLost: (why: string) => void = () => undefined;

  constructor(storage: PostgresStorage, log: Log, options: Pick<LeaseOptions, 'takesPart' | 'leaseMs'>) {
    this.#storage = storage;
    this.#log = log;
    this.#options = options;
  }

  get members(): Members | undefined {
    return this.#lease?.members;
  }

  forwardingKey(): Promise<string> {
    return must(this.members, 'the server takes part').forwardingKey();
  }

  get isHeld(): boolean {
    return this.#lease?.isHeld ?? false;
  }

  get isOwner(): boolean {
    return this.#lease?.isOwner ?? false;
  }

  get isAwaited(): boolean {
    return this.#lease?.isAwaited ?? false;
  }

  get owner(): OtherServer | undefined {
    return this.#lease?.owner;
  }

  get hasSynchronousReplica(): boolean | undefined {
    return this.#lease?.hasSynchronousReplica;
  }

  get rollback(): DatabaseError | undefined {
    return this.#storage.history.rollback;
  }

  async take(): Promise<boolean> {
    const { place } = this.#storage;
    this.#lease ??= await this.#storage.openLease({
      described: `process ${process.pid} on ${this.machine}`,
      machine: this.machine,
      ...this.#options,
      onLost: (why) => this.onLost(why),
      onUnreached: (error) =>
        this.#log.error(`This server stands by, but can't reach ${place} (${messageOf(error)}). It tries again.`),
    });
    if (!(await this.#lease.tryTake())) return false;
    await this.#mustHoldAList();
    this.#adviseReplica();
    return true;
  }

  async takeWhenFree(): Promise<void> {
    if (this.#lease === undefined) await this.take();
    if (this.isOwner) return;
    await this.#lease?.take();
    await this.#mustHoldAList();
    this.#adviseReplica();
  }

  announce(address: string): void {
    // It is announced again when this server takes the storage.
    void this.#lease?.announce(address).catch(() => undefined);
  }

  async giveUp(): Promise<void> {
    await this.#lease?.giveUp();
  }

  async release(): Promise<void> {
    await this.#lease?.release();
  }

  #adviseReplica(): void {
    if (this.hasSynchronousReplica !== false) return;
    this.#log.info(
      `PostgreSQL has no synchronous replica (synchronous_standby_names is empty, or synchronous_commit does not wait): if its machine is lost, so are the last writes, also those that were acknowledged as durable (docs/node.md#replicas-of-postgresql).`,
    );
  }

  /** Fails if the storage has databases, and not the list of them. */
  async #mustHoldAList(): Promise<void> {
    const { place } = this.#storage;
    const store = this.#storage.createStore();
    try {
      const advice =
        'Restore the database of PostgreSQL from a backup; or name another schema, to begin without databases.';
      mustHoldList(await store.list(), place, advice);
    } finally {
      await store.close();
    }
  }
}
