import { describe, expect, test } from 'vitest';
import { EndedSessions } from '../../../src/accounts/schemes/ended-sessions.ts';

const TIMEOUT = 600;

/** A service whose clock can be moved, in seconds, and that can be opened again with what it keeps. */
class Service {
  readonly notes = new Map<string, string>();
  now = 1_800_000_000;
  timeout = TIMEOUT;
  isBroken = false;
  ended = this.open();

  open(): EndedSessions {
    const clock = { now: () => this.now * 1000, monotonic: () => this.now * 1000 };
    const keepNote = async (name: string, text: string | undefined) => {
      if (this.isBroken) throw new Error('the disk is full');
      if (text === undefined) this.notes.delete(name);
      else this.notes.set(name, text);
    };
    return new EndedSessions({ notes: { notes: this.notes, keepNote }, clock, lastsSeconds: () => this.timeout });
  }

  reopen(): void {
    this.ended = this.open();
  }

  has(name: string, id: string, madeAt = this.now): boolean {
    return this.ended.has({ name, id, madeAt });
  }

  get bytes(): number {
    return [...this.notes].reduce((sum, [name, text]) => sum + name.length + text.length, 0);
  }
}

describe('ended sessions', () => {
  test('are recognized by user and id, also after a restart', async () => {
    const service = new Service();
    await service.ended.end({ name: 'ana', id: 'one' });
    for (const _ of [1, 2]) {
      expect(service.has('ana', 'one')).toBe(true);
      expect(service.has('ana', 'one', service.now + 10)).toBe(true);
      expect(service.has('ana', 'two')).toBe(false);
      expect(service.has('bob', 'one')).toBe(false);
      service.reopen();
    }
  });

  test("of one user take bounded memory, and other users' sessions stay ended", async () => {
    const service = new Service();
    await service.ended.end({ name: 'bob', id: 'of bob' });
    const before = service.now;
    for (let count = 0; count < 1_000; count++) {
      if (count % 10 === 0) service.now += 1;
      await service.ended.end({ name: 'ana', id: `session-${count}`.padEnd(16, '-') });
    }
    expect(service.bytes).toBeLessThan(20_000);
    for (const _ of [1, 2]) {
      const live = Array.from({ length: 1_000 }, (_, count) => count).filter((count) => {
        const madeAt = before + Math.floor(count / 10) - 1;
        return !service.has('ana', `session-${count}`.padEnd(16, '-'), madeAt);
      });
      expect(live).toEqual([]);
      expect(service.has('bob', 'other', before)).toBe(false);
      expect(service.has('ana', 'new', service.ended.timeOfNew('ana'))).toBe(false);
      service.reopen();
    }
  });

  test("in a flood don't affect sessions that begin in the same second", async () => {
    const service = new Service();
    for (let count = 0; count < 1_000; count++) await service.ended.end({ name: 'ana', id: `${count}` });
    expect(service.has('ana', 'new')).toBe(true);
    const madeAt = service.ended.timeOfNew('ana');
    expect(madeAt - service.now).toBe(1);
    expect(service.has('ana', 'new', madeAt)).toBe(false);
    service.now += 1;
    expect(service.has('ana', 'new', madeAt)).toBe(false);
    expect(service.ended.timeOfNew('bob')).toBe(service.now);
  });

  test('are forgotten when they would have expired, and stay ended if the timeout is raised', async () => {
    const service = new Service();
    const madeAt = service.now;
    for (let count = 0; count < 100; count++) await service.ended.end({ name: `user ${count}`, id: 'one' });
    service.now += 2 * TIMEOUT + 1;
    for (let count = 0; count < 100; count++) await service.ended.end({ name: 'ana', id: `${count}` });
    expect([...service.notes.keys()].sort()).toEqual(['ended-sessions/', 'ended-sessions/ana']);
    service.timeout = 100_000;
    service.reopen();
    expect(service.has('user 1', 'one', madeAt)).toBe(true);
    expect(service.has('user 1', 'two', service.now)).toBe(false);
  });

  test("ended while the clock was ahead don't affect new sessions after it is corrected", async () => {
    const service = new Service();
    const present = service.now;
    service.now += 100_000_000;
    await service.ended.end({ name: 'bob', id: 'one' });
    for (let count = 0; count < 1_000; count++) await service.ended.end({ name: 'ana', id: `${count}` });
    service.now = present;
    await service.ended.end({ name: 'cleo', id: 'one' });
    for (const name of ['ana', 'bob', 'cleo']) {
      expect(service.ended.timeOfNew(name)).toBe(present);
      expect(service.has(name, 'new')).toBe(false);
    }
    expect(service.has('cleo', 'one')).toBe(true);
  });

  test("that can't be stored stay valid, so that ending them can be tried again", async () => {
    const service = new Service();
    service.isBroken = true;
    await expect(service.ended.end({ name: 'ana', id: 'one' })).rejects.toThrow('the disk is full');
    expect(service.has('ana', 'one')).toBe(false);
    service.isBroken = false;
    await service.ended.end({ name: 'ana', id: 'one' });
    service.reopen();
    expect(service.has('ana', 'one')).toBe(true);
  });
});
