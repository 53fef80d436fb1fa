import { ConnectionPool } from '../../../src/storage/postgres/connection-pool.ts';
import { DurableHistory } from '../../../src/storage/postgres/durable-history.ts';
import type { Members } from '../../../src/storage/postgres/members/members.ts';
import type { Membership } from '../../../src/storage/postgres/members/membership.ts';
import { type LeaseOptions, StorageLease } from '../../../src/storage/postgres/storage-lease.ts';
import type { StorageAddress } from '../../../src/storage/postgres/storage-url.ts';
import { CuttingProxy } from './cutting-proxy.ts';

/** A server that takes part in a storage, without databases. It reaches the storage through a proxy. */
export class MemberServer {
  readonly lease: StorageLease;
  readonly members: Members;
  /** Why it has lost the storage, each time. */
  readonly lost: string[];
  readonly #pool: ConnectionPool;
  readonly #proxy: CuttingProxy;
  #isClosed = false;
  #taking: Promise<void> = Promise.resolve();
  #onLost: () => void = () => undefined;

  private constructor(
    lease: StorageLease,
    members: Members,
    lost: string[],
    pool: ConnectionPool,
    proxy: CuttingProxy,
  ) {
    this.lease = lease;
    this.members = members;
    this.lost = lost;
    this.#pool = pool;
    this.#proxy = proxy;
  }

  static async start({ address }: { readonly address: StorageAddress }, options: LeaseOptions): Promise<MemberServer> {
    const proxy = await CuttingProxy.start(address.port);
    const pool = await ConnectionPool.open({ ...address, host: '127.0.0.1', port: proxy.port, pool: 1 });
    const lost: string[] = [];
    let onLost: () => void = () => undefined;
    const lease = await StorageLease.open(pool, new DurableHistory(), {
      takesPart: true,
      onLost: (why) => {
        lost.push(why);
        onLost();
      },
      ...options,
    });
    if (lease.members === undefined) throw new Error('a server that takes part has no members');
    const server = new MemberServer(lease, lease.members, lost, pool, proxy);
    onLost = () => server.#onLost();
    return server;
  }

  /** Whether its connections are cut, and new ones are refused. */
  set isCutOff(isCutOff: boolean) {
    this.#proxy.isDown = isCutOff;
  }

  /** Takes the storage whenever it is free, until this server is closed. */
  keepTaking(): void {
    this.#taking = this.#keepTaking();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.lease.release();
    this.#onLost();
    await this.#taking;
    await this.#pool.close();
    await this.#proxy.close();
  }

  /** Ends when the server is closed, or can't take the storage any more. */
  async #keepTaking(): Promise<void> {
    while (
      await this.lease.take().then(
        () => true,
        () => false,
      )
    ) {
      await new Promise<void>((resolve) => {
        this.#onLost = resolve;
        if (!this.lease.isOwner) resolve();
      });
    }
  }
}

/** The descriptions of the members that a server sees, sorted. */
export function seenBy({ members }: MemberServer): readonly string[] {
  return (members.membership?.members ?? []).map(({ described }) => described).sort();
}

/** Resolves when a server sees a membership that `accepts` is true for. */
export function waitFor({ members }: MemberServer, accepts: (membership: Membership) => boolean): Promise<Membership> {
  return new Promise((resolve) => {
    const take = (membership: Membership) => {
      if (!accepts(membership)) return;
      end();
      resolve(membership);
    };
    const end = members.onMembership(take);
    if (members.membership !== undefined) take(members.membership);
  });
}
