/** Links of clients to owners, over locks and messages as browsers have them. */
import { afterEach, beforeEach, vi } from 'vitest';
import type { PlainRequest, PlainResponse, RequestBody } from '../../../../../src/base/shared/message.ts';
import { type CreateLinkOptions, createLink } from '../../../../../src/browser/bridge/link/owner-link.ts';
import { FakeLocks } from '../../../../support/fake-locks.ts';
import { messagesArrived, newInstance, ScriptedOwner } from '../support.ts';

export let table = new FakeLocks();
export let instance = newInstance();
export let ends: (() => void)[] = [];

/** Gives each test of a file an instance and locks of its own, and timers that pass only when it says so; then ends its links and owners. */
export function useLinks(): void {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] });
    table = new FakeLocks();
    instance = newInstance();
  });

  afterEach(() => {
    for (const end of ends) end();
    ends = [];
    vi.useRealTimers();
  });
}

export function newLink(options: Partial<CreateLinkOptions> = {}) {
  const link = createLink({ instance, carrier: 'tab', locks: table.client(), ...options });
  ends.push(() => link.close());
  return link;
}

/** One that has the locks and has said so. */
export async function newOwner(options?: LockOptions): Promise<ScriptedOwner> {
  const owner = await waitingOwner().rise(options);
  owner.announce();
  await messagesArrived();
  return owner;
}

/** One that has no locks yet. */
export function waitingOwner(): ScriptedOwner {
  const owner = new ScriptedOwner(instance, table);
  ends.push(() => owner.close());
  return owner;
}

interface Asked {
  readonly body?: RequestBody;
  readonly signal?: AbortSignal;
  readonly headers?: Readonly<Record<string, string>>;
}

export function request(what: string, { headers = {}, body = null, signal }: Asked = {}): PlainRequest {
  const [method = '', path = ''] = what.split(' ');
  const plain = { method, url: `${instance.base}${path}`, headers, body };
  return signal === undefined ? plain : { ...plain, signal };
}

export const never: Promise<PlainResponse> = new Promise(() => {});

export async function pass(ms: number): Promise<void> {
  await messagesArrived();
  for (let passed = 0; passed < ms; passed += 500) {
    vi.advanceTimersByTime(Math.min(500, ms - passed));
    await messagesArrived();
  }
}
