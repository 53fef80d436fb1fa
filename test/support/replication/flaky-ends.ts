/** A database here and one at a peer that fails as a test requires: copies between the two, in either direction. */
import { afterAll, afterEach, beforeAll, beforeEach, expect } from 'vitest';
import type { Core } from '../../../src/core/core.ts';
import type { Replication, ReplicatorHost } from '../../../src/replication/contract.ts';
import { hostOf, local, must, newCore, pick, remote, replicationOf, treesOf } from '../../unit/replication/support.ts';
import { FlakyNetwork, type FlakyPeer } from './flaky-peer.ts';

export type Direction = 'pull' | 'push';

/** Small batches, so that a fault hits each kind of request. Only what `hanging` is added to gives up soon: a busy machine is no fault. */
export const PATIENCE: Partial<Replication> = {
  batchSize: 10,
  retriesPerRequest: 8,
  connectionTimeoutMs: 30_000,
  checkpointIntervalMs: 20,
};

/** For peers that leave requests unanswered. */
export const hanging = { connectionTimeoutMs: 1_000 };

export interface Sides {
  readonly source: Core;
  readonly target: Core;
  readonly replication: Replication;
}

/** Created for each test, both with an empty database `db`. */
export interface FlakyEnds {
  readonly core: Core;
  readonly peer: FlakyPeer;
  readonly host: ReplicatorHost;
}

export function useFlakyEnds(): FlakyEnds {
  let network: FlakyNetwork;
  const ends: { core?: Core; peer?: FlakyPeer } = {};
  const made = <T>(one: T | undefined): T => {
    if (one === undefined) throw new Error('there are no ends outside of a test');
    return one;
  };

  beforeAll(() => {
    network = new FlakyNetwork();
  });
  afterAll(() => network.close());

  beforeEach(async () => {
    const [core, peer] = await Promise.all([newCore(), network.peer()]);
    Object.assign(ends, { core, peer });
    await must(core, 'PUT /db');
    await must(peer.core, 'PUT /db');
  });

  afterEach(async () => {
    const { core, peer } = ends;
    if (peer !== undefined) peer.fault = undefined;
    await Promise.all([core?.close(), peer?.core.close()]);
  });

  return {
    get core() {
      return made(ends.core);
    },
    get peer() {
      return made(ends.peer);
    },
    get host() {
      return hostOf(made(ends.core).handle);
    },
  };
}

export function sidesOf({ core, peer }: FlakyEnds, direction: Direction): Sides {
  const there = remote(`${peer.url}/db`);
  return direction === 'pull'
    ? { source: peer.core, target: core, replication: replicationOf(there, local('db'), PATIENCE) }
    : { source: core, target: peer.core, replication: replicationOf(local('db'), there, PATIENCE) };
}

/** Expects both to have the same documents, and the target to have taken each revision once. */
export async function expectCopied(source: Core, target: Core, revisions: number): Promise<void> {
  expect(await treesOf(target, 'db')).toEqual(await treesOf(source, 'db'));
  expect(Number(pick(await must(target, 'GET /db'), 'update_seq'))).toBeLessThanOrEqual(revisions);
}
