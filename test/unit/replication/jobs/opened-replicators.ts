/** Replicators, and what they tell of their jobs. */
import { afterEach, beforeEach, vi } from 'vitest';
import type { ReplicateOutcome } from '../../../../src/replication/jobs/replicator.ts';
import { ADMIN, type FakeOptions, type FakeService, openReplicator } from './support.ts';

export const LIVE = { source: 'a', target: 'b', continuous: true };
export const ONCE = { source: 'a', target: 'b' };
export const JOE = { name: 'joe', roles: [] };

let services: FakeService[] = [];

export function open(options?: FakeOptions): FakeService {
  const service = openReplicator(options);
  services.push(service);
  return service;
}

/** Gives each test of a file timers that pass only when it says so, and closes its replicators. */
export function useReplicators(): void {
  beforeEach(() => {
    services = [];
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  });

  afterEach(async () => {
    for (const { replicator } of services) await replicator.close();
    vi.useRealTimers();
  });
}

export function post({ replicator }: FakeService, body: object, user = ADMIN): Promise<ReplicateOutcome> {
  return replicator.replicate({ ...body }, { user, ownBases: [] });
}

export async function resultOf(outcome: ReplicateOutcome): Promise<unknown> {
  if (outcome.kind !== 'running') throw new Error(`it is ${outcome.kind}`);
  return outcome.result;
}

export function states({ replicator }: FakeService): string[] {
  return replicator.jobs.list().map(({ state }) => state);
}
