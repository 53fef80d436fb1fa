import { Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { heldMs, nextTurn } from '../../../../src/base/shared/turn.ts';
import { Entrance } from '../../../../src/node/http/entrance.ts';

let now = 0;

afterEach(() => {
  vi.restoreAllMocks();
});

/** In a turn that nobody has held yet, with a clock that stands still. */
async function stopClock(): Promise<void> {
  await nextTurn();
  await nextTurn();
  now = 0;
  vi.spyOn(performance, 'now').mockImplementation(() => now);
}

function from(address: string): Socket {
  const socket = new Socket();
  vi.spyOn(socket, 'remoteAddress', 'get').mockReturnValue(address);
  return socket;
}

/** Requests that take 4 ms each, in the order in which they began, and how long the turn had lasted then. */
class Requests {
  readonly begun: string[] = [];
  readonly held: number[] = [];
  readonly #entrance = new Entrance();

  enter(name: string, socket: Socket): void {
    this.#entrance.enter(socket, () => {
      this.held.push(heldMs());
      now += 4;
      this.begun.push(name);
    });
  }
}

test('a request begins at once', async () => {
  await stopClock();
  const requests = new Requests();
  requests.enter('a', from('10.0.0.1'));
  expect(requests.begun).toEqual(['a']);
});

test('requests that arrive in a full turn begin in later turns, addresses alternating', async () => {
  await stopClock();
  const requests = new Requests();
  const greedy = from('10.0.0.1');
  for (let n = 1; n <= 8; n += 1) requests.enter(`greedy ${n}`, greedy);
  requests.enter('other', from('10.0.0.2'));
  while (requests.begun.length < 9) await nextTurn();
  expect(requests.begun).toEqual([
    ...['greedy 1', 'greedy 2', 'greedy 3'],
    ...['greedy 4', 'other', 'greedy 5', 'greedy 6', 'greedy 7', 'greedy 8'],
  ]);
  expect(Math.max(...requests.held)).toBe(8);
});

test("a request whose connection has ended while it waited doesn't begin", async () => {
  await stopClock();
  const requests = new Requests();
  const gone = from('10.0.0.1');
  for (const name of ['a', 'b', 'c']) requests.enter(name, from('10.0.0.2'));
  requests.enter('gone', gone);
  requests.enter('last', from('10.0.0.1'));
  gone.destroy();
  while (!requests.begun.includes('last')) await nextTurn();
  expect(requests.begun).toEqual(['a', 'b', 'c', 'last']);
});
