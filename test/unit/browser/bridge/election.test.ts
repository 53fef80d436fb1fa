import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Instance } from '../../../../src/browser/bridge/contract.ts';
import { createInstance } from '../../../../src/browser/bridge/instance.ts';
import { createElection, type Election } from '../../../../src/browser/bridge/ownership/election.ts';
import type { LeaveReason } from '../../../../src/browser/bridge/ownership/ownership.ts';
import { PROTOCOL, type ToAll } from '../../../../src/browser/bridge/wire.ts';
import { type FakeLockClient, FakeLocks } from '../../../support/fake-locks.ts';
import { patient } from '../../../support/patience.ts';

let locks: FakeLocks;
let instance: Instance;
let all: BroadcastChannel;
let heard: ToAll[];
let candidates: Candidate[];

beforeEach(() => {
  locks = new FakeLocks();
  instance = createInstance(`/${crypto.randomUUID()}/`, 'https://app.example');
  all = new BroadcastChannel(instance.name);
  heard = [];
  all.onmessage = ({ data }) => heard.push(data);
  candidates = [];
});

afterEach(async () => {
  vi.restoreAllMocks();
  for (const candidate of candidates) if (!candidate.isKilled) await candidate.election.close();
  all.close();
});

interface CandidateOptions {
  readonly kind?: 'tab' | 'service-worker';
  readonly protocol?: number;
  /** How long it waits for the answer to a ping. */
  readonly pingMs?: number;
  /** How often opening the storage fails before it succeeds. */
  readonly failures?: number;
  readonly leaveFails?: boolean;
}

/** Somebody who takes part, and what was asked of him, in order. */
class Candidate {
  readonly events: string[] = [];
  readonly client: FakeLockClient = locks.client();
  readonly election: Election;
  isKilled = false;
  now = 0;
  ownerId = '';

  constructor({
    kind = 'tab',
    protocol = PROTOCOL,
    pingMs = 20,
    failures = 0,
    leaveFails = false,
  }: CandidateOptions = {}) {
    let left = failures;
    this.election = createElection({
      instance,
      locks: this.client,
      kind,
      protocol,
      pingMs,
      clock: { now: () => this.now, monotonic: () => this.now },
      listen: (ownerId) => {
        this.ownerId = ownerId;
        this.events.push('listen');
      },
      become: async () => {
        if (left-- > 0) throw new Error('blocked');
        this.events.push('become');
      },
      leave: async (why: LeaveReason) => {
        this.events.push(why);
        if (leaveFails) throw new Error('the last checkpoint failed');
      },
      onOutage: (error) => this.events.push(String(error)),
    });
    candidates.push(this);
  }

  get isOwner(): boolean {
    return this.election.ownership?.isReady === true;
  }

  kill(): void {
    this.isKilled = true;
    this.client.kill();
  }
}

/** Answers pings as a live owner does, and counts them. */
function answerPings(ownerId: string): { readonly channel: BroadcastChannel; count: number } {
  const channel = new BroadcastChannel(`${instance.name}|${ownerId}`);
  const life = { channel, count: 0 };
  channel.onmessage = ({ data }) => {
    life.count++;
    const sender = new BroadcastChannel(`${instance.name}|${data.from}`);
    sender.postMessage({ protocol: PROTOCOL, from: ownerId, kind: 'pong' });
    sender.close();
  };
  return life;
}

const becomesOwner = (candidate: Candidate) => vi.waitFor(() => expect(candidate.isOwner).toBe(true), patient);
const pings = () => new Promise((resolve) => setTimeout(resolve, 150));
const suspect = (owner: string) => all.postMessage({ protocol: PROTOCOL, from: 'sender', kind: 'suspect', owner });

describe('a tab', () => {
  it('becomes the owner, listens before it can be found, and announces itself', async () => {
    const tab = new Candidate();
    await becomesOwner(tab);
    expect(tab.events).toEqual(['listen', 'become']);
    expect(locks.snapshot().held?.map(({ name }) => name)).toEqual([
      `${instance.name}|owner`,
      `${instance.name}|alive|${tab.ownerId}`,
    ]);
    await vi.waitFor(() => expect(heard.map(({ kind }) => kind)).toEqual(['wanted', 'owner']), patient);
    expect(heard[1]?.from).toBe(tab.ownerId);
  });

  it('waits for its turn, and becomes the owner when the previous one closes', async () => {
    const first = new Candidate();
    const second = new Candidate();
    await becomesOwner(first);
    expect(second.events).toEqual([]);
    await first.election.close();
    await becomesOwner(second);
    expect(first.events).toEqual(['listen', 'become', 'closing']);
    expect(second.ownerId).not.toBe(first.ownerId);
  });

  it('becomes the owner when the previous one is killed', async () => {
    const first = new Candidate();
    const second = new Candidate();
    await becomesOwner(first);
    first.kill();
    await becomesOwner(second);
  });

  it('tries again while the storage is blocked, as the same owner', async () => {
    const tab = new Candidate({ failures: 2 });
    await becomesOwner(tab);
    expect(tab.events).toEqual(['listen', 'Error: blocked', 'Error: blocked', 'become']);
  });

  it('properly releases a storage that it never opened', async () => {
    const tab = new Candidate({ failures: Number.POSITIVE_INFINITY });
    await vi.waitFor(() => expect(tab.events).toContain('Error: blocked'), patient);
    await tab.election.close();
    expect(tab.events.at(-1)).toBe('closing');
    expect(locks.snapshot()).toEqual({ held: [], pending: [] });
  });

  it('leaves the queue when it closes', async () => {
    const first = new Candidate();
    const second = new Candidate();
    await becomesOwner(first);
    await second.election.close();
    expect(second.events).toEqual([]);
    expect(locks.snapshot().pending).toEqual([]);
  });

  it('keeps the storage when another tab of the same protocol requests it', async () => {
    const tab = new Candidate();
    await becomesOwner(tab);
    all.postMessage({ protocol: PROTOCOL, from: 'other', kind: 'wanted' });
    await pings();
    expect(tab.events).toEqual(['listen', 'become']);
  });

  it('gives the storage to a tab of a newer protocol, and queues behind it', async () => {
    const old = new Candidate();
    await becomesOwner(old);
    const newer = new Candidate({ protocol: PROTOCOL + 1 });
    await becomesOwner(newer);
    expect(old.events).toEqual(['listen', 'become', 'asked']);
    await newer.election.close();
    await becomesOwner(old);
  });

  it('becomes the owner even if several older tabs are ahead of it', async () => {
    const old = [new Candidate(), new Candidate(), new Candidate()];
    await vi.waitFor(() => expect(old.some(({ isOwner }) => isOwner)).toBe(true), patient);
    const newer = new Candidate({ protocol: PROTOCOL + 1 });
    await becomesOwner(newer);
  });
});

describe('stealing the storage', () => {
  it('ends the ownership at once, and the previous owner queues again under a new id', async () => {
    const tab = new Candidate();
    await becomesOwner(tab);
    const { ownerId } = tab;
    let release = () => {};
    const thief = locks.client();
    void thief.request(`${instance.name}|owner`, { steal: true }, () => new Promise<void>((done) => (release = done)));
    await vi.waitFor(() => expect(tab.events.at(-1)).toBe('stolen'), patient);
    release();
    await becomesOwner(tab);
    expect(tab.ownerId).not.toBe(ownerId);
    expect(tab.events).toEqual(['listen', 'become', 'stolen', 'listen', 'become']);
  });

  it('happens to a suspect that answers no ping, and frees its alive lock', async () => {
    const frozen = new Candidate();
    await becomesOwner(frozen);
    const { ownerId } = frozen;
    const tab = new Candidate();
    suspect(ownerId);
    await becomesOwner(tab);
    expect(frozen.events).toEqual(['listen', 'become', 'stolen']);
    expect(locks.snapshot().held?.map(({ name }) => name)).not.toContain(`${instance.name}|alive|${ownerId}`);
  });

  it('does not happen to a suspect that answers', async () => {
    const owner = new Candidate();
    await becomesOwner(owner);
    const life = answerPings(owner.ownerId);
    // So long that any machine answers in time; the pause before the first ping is a part of it.
    vi.spyOn(Math, 'random').mockReturnValue(0);
    const tab = new Candidate({ pingMs: 10_000 });
    suspect(owner.ownerId);
    await vi.waitFor(() => expect(life.count).toBe(1), patient);
    await pings();
    expect(owner.events).toEqual(['listen', 'become']);
    expect(tab.events).toEqual([]);
    life.channel.close();
  });

  it('does not happen to a suspect that announced to be busy, until that time is over', async () => {
    const owner = new Candidate();
    await becomesOwner(owner);
    const tab = new Candidate();
    owner.election.announceWork(5000);
    suspect(owner.ownerId);
    await pings();
    expect(owner.events).toEqual(['listen', 'become']);
    tab.now += 5001;
    suspect(owner.ownerId);
    await becomesOwner(tab);
  });

  it('happens after 20 s, however long the suspect announced to be busy', async () => {
    const owner = new Candidate();
    await becomesOwner(owner);
    const tab = new Candidate();
    owner.election.announceWork(1e9);
    suspect(owner.ownerId);
    await pings();
    tab.now += 19_000;
    suspect(owner.ownerId);
    await pings();
    expect(tab.events).toEqual([]);
    tab.now += 1_001;
    suspect(owner.ownerId);
    await becomesOwner(tab);
  });

  it('does not happen when the owner is already gone', async () => {
    const owner = new Candidate();
    await becomesOwner(owner);
    const tab = new Candidate();
    suspect('somebody-of-yesterday');
    await pings();
    expect(owner.events).toEqual(['listen', 'become']);
    expect(tab.events).toEqual([]);
  });

  it('leaves exactly one owner when many tabs are notified at once', async () => {
    const frozen = new Candidate();
    await becomesOwner(frozen);
    const tabs = Array.from({ length: 8 }, () => new Candidate());
    suspect(frozen.ownerId);
    await vi.waitFor(() => expect(tabs.filter(({ isOwner }) => isOwner)).toHaveLength(1), patient);
    await pings();
    expect(tabs.filter(({ isOwner }) => isOwner)).toHaveLength(1);
    expect(locks.snapshot().held).toHaveLength(2);
  });
});

describe('a gap in the clock', () => {
  it('has no effect while the lock is held', async () => {
    const tab = new Candidate();
    await becomesOwner(tab);
    const { ownership } = tab.election;
    expect(ownership?.check()).toBe(true);
    tab.now += 5000;
    expect(await ownership?.check()).toBe(true);
    expect(ownership?.check()).toBe(true);
    expect(tab.isOwner).toBe(true);
  });

  it('reveals that the storage belongs to another owner', async () => {
    const tab = new Candidate();
    await becomesOwner(tab);
    const { ownership } = tab.election;
    tab.kill();
    expect(ownership?.check()).toBe(true);
    tab.now += 5000;
    expect(await ownership?.check()).toBe(false);
    expect(tab.events.at(-1)).toBe('stolen');
  });

  it('is noticed even without requests', async () => {
    const tab = new Candidate();
    await becomesOwner(tab);
    tab.kill();
    tab.now += 5000;
    await vi.waitFor(() => expect(tab.events.at(-1)).toBe('stolen'), patient);
  });
});

describe('a service worker', () => {
  it('never queues for the storage by itself', async () => {
    const worker = new Candidate({ kind: 'service-worker' });
    await pings();
    expect(worker.events).toEqual([]);
    expect(locks.snapshot()).toEqual({ held: [], pending: [] });
  });

  it('takes the storage if no client has it, and releases it on request', async () => {
    const worker = new Candidate({ kind: 'service-worker' });
    expect(await worker.election.takeIfFree()).toBe(true);
    expect(await worker.election.takeIfFree()).toBe(true);
    expect(worker.events).toEqual(['listen', 'become']);
    worker.election.giveWay();
    await vi.waitFor(() => expect(locks.snapshot().held).toEqual([]), patient);
    expect(worker.events).toEqual(['listen', 'become', 'asked']);
    expect(await worker.election.takeIfFree()).toBe(true);
  });

  it('leaves the storage to a tab that has it', async () => {
    const tab = new Candidate();
    await becomesOwner(tab);
    const worker = new Candidate({ kind: 'service-worker' });
    expect(await worker.election.takeIfFree()).toBe(false);
    expect(worker.events).toEqual([]);
  });

  it('gives the storage to a tab as soon as it appears', async () => {
    const worker = new Candidate({ kind: 'service-worker' });
    await worker.election.takeIfFree();
    const tab = new Candidate();
    await becomesOwner(tab);
    expect(worker.events).toEqual(['listen', 'become', 'asked']);
  });

  it('gives the storage to a tab that appeared while it was opening it', async () => {
    const worker = new Candidate({ kind: 'service-worker', failures: 1 });
    const taking = worker.election.takeIfFree();
    const tab = new Candidate();
    expect(await taking).toBe(false);
    await becomesOwner(tab);
    expect(worker.events.at(-1)).toBe('asked');
  });

  it('never steals the storage', async () => {
    const worker = new Candidate({ kind: 'service-worker' });
    const frozen = new Candidate();
    await becomesOwner(frozen);
    suspect(frozen.ownerId);
    await pings();
    expect(frozen.events).toEqual(['listen', 'become']);
    expect(worker.events).toEqual([]);
  });
});

describe('a service worker whose storage fails to close', () => {
  it('releases it anyway, logs that, and can take it again', async () => {
    const unhandled = vi.fn();
    process.on('unhandledRejection', unhandled);
    const worker = new Candidate({ kind: 'service-worker', leaveFails: true });
    expect(await worker.election.takeIfFree()).toBe(true);
    worker.election.giveWay();
    await vi.waitFor(() => expect(locks.snapshot().held).toEqual([]), patient);
    await pings();
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
    expect(worker.events).toEqual(['listen', 'become', 'asked', 'Error: the last checkpoint failed']);
    await worker.election.close();
  });
});
