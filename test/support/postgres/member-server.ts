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
    const onLost = (why: string) => lost.push(why);
    const lease = await StorageLease.open(pool, new DurableHistory(), { takesPart: true, onLost, ...options });
    if (lease.members === undefined) throw new Error('a server that takes part has no members');
    return new MemberServer(lease, lease.members, lost, pool, proxy);
  }

  /** Whether its connections are cut, and new ones are refused. */
  set isCutOff(isCutOff: boolean) {
    this.#proxy.isDown = isCutOff;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.lease.release();
    await this.#pool.close();
    await this.#proxy.close();
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
