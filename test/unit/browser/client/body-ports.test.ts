import { once } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { ByteStream } from '../../../../src/base/shared/message.ts';
import { readBody, sendBody } from '../../../../src/browser/bridge/body-streams.ts';
import { portPipe } from '../../../../src/browser/bridge/stream-transports.ts';
import type { BodyStep } from '../../../../src/browser/bridge/wire.ts';
import { type IncomingBody, offerBody, receiveBody } from '../../../../src/browser/client/body-ports.ts';
import { patient } from '../../../support/patience.ts';

const ports: MessagePort[] = [];

afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

function channel(): MessageChannel {
  const made = new MessageChannel();
  ports.push(made.port1, made.port2);
  return made;
}

/** A stream that counts what was pulled of it. */
function countedStream(chunks: readonly Uint8Array[], failure?: Error) {
  const seen = { pulled: 0, cancelled: undefined as unknown };
  const stream: ByteStream = {
    pull: async () => {
      const chunk = chunks[seen.pulled++];
      if (chunk === undefined && failure !== undefined) throw failure;
      return chunk;
    },
    cancel: async (reason) => {
      seen.cancelled = reason;
    },
  };
  return { stream, seen };
}

/** A stream of text, as the core makes lists. */
function textStream(texts: readonly string[], isEndless = false): ByteStream {
  const left = [...texts];
  return {
    pull: () => Promise.reject(new Error('Text is not to become bytes')),
    pullText: async () => left.shift() ?? (isEndless ? new Promise<never>(() => {}) : undefined),
    cancel: async () => {},
  };
}

function receiveFrom(stream: ByteStream, length?: number) {
  const { port1, port2 } = channel();
  sendBody(stream, portPipe(port1));
  const onEnd = vi.fn();
  return { body: receiveBody(port2, length, onEnd), onEnd };
}

const bytes = (...values: number[]) => new Uint8Array(values);

async function textOf({ readText }: IncomingBody): Promise<string> {
  const pieces: string[] = [];
  await readText((piece) => pieces.push(piece));
  return pieces.join('');
}

describe('a body from the worker', () => {
  test('arrives whole and in order', async () => {
    const { stream } = countedStream([bytes(1, 2), bytes(3), bytes(4, 5, 6)]);
    const { body, onEnd } = receiveFrom(stream, 6);
    const whole = await new Response(body.readable).arrayBuffer();
    expect(new Uint8Array(whole)).toEqual(bytes(1, 2, 3, 4, 5, 6));
    expect(onEnd).toHaveBeenCalledWith(body);
  });

  test('is not produced before it is read, and no further than it is read', async () => {
    const { stream, seen } = countedStream([bytes(1), bytes(2), bytes(3)]);
    const { body } = receiveFrom(stream);
    const reader = body.readable.getReader();
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.pulled).toBe(0);
    expect((await reader.read()).value).toEqual(bytes(1));
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.pulled).toBe(1);
    await reader.cancel();
  });

  test('is read as text, whether it was sent as text or as bytes', async () => {
    const encoded = new TextEncoder().encode('Tromsø 🎉');
    const inBytes = countedStream([encoded.subarray(0, 6), encoded.subarray(6)]).stream;
    expect(await textOf(receiveFrom(inBytes, encoded.length).body)).toBe('Tromsø 🎉');
    const { body, onEnd } = receiveFrom(textStream(['Trom', 'sø 🎉', '!']));
    expect(await textOf(body)).toBe('Tromsø 🎉!');
    expect(onEnd).toHaveBeenCalledTimes(1);
  });

  test("is returned as text piece by piece, while the rest isn't there yet", async () => {
    const { body } = receiveFrom(textStream(['a', 'b'], true));
    const take = vi.fn();
    const reading = body.readText(take);
    await vi.waitFor(() => expect(take.mock.calls).toEqual([['a'], ['b']]), patient);
    body.fail(new TypeError('enough'));
    await expect(reading).rejects.toThrow('enough');
  });

  test('read as text is granted 16 chunks ahead, and more once half of them arrived', async () => {
    const { port1, port2 } = channel();
    const granted: unknown[] = [];
    port1.onmessage = ({ data }) => granted.push(data);
    const reading = textOf(receiveBody(port2, undefined, () => {}));
    await vi.waitFor(() => expect(granted).toEqual([{ step: 'pull', chunks: 16 }]), patient);
    for (let chunk = 0; chunk < 8; chunk++) port1.postMessage({ step: 'text', text: 'a' });
    await vi.waitFor(() => expect(granted.slice(1)).toEqual([{ step: 'pull', chunks: 8 }]), patient);
    port1.postMessage({ step: 'end' });
    expect(await reading).toBe('aaaaaaaa');
  });

  test('that was sent as text can be read as bytes', async () => {
    const { body } = receiveFrom(textStream(['Trom', 'sø 🎉']));
    expect(await new Response(body.readable).text()).toBe('Tromsø 🎉');
  });

  test("can't be read as text while it is read as bytes", () => {
    const { body } = receiveFrom(textStream(['a']));
    body.readable.getReader();
    expect(() => body.readText(() => {})).toThrow(TypeError);
  });

  test("that breaks off can't be read as text: before it is read, in the middle, or short of its length", async () => {
    const early = receiveFrom(textStream(['a'])).body;
    early.fail(new TypeError('The page was left'));
    await expect(textOf(early)).rejects.toThrow('The page was left');
    const source = countedStream([bytes(65)], new Error('the snapshot was lost'));
    await expect(textOf(receiveFrom(source.stream).body)).rejects.toThrow('the snapshot was lost');
    const short = receiveFrom(countedStream([bytes(65)]).stream, 2).body;
    await expect(textOf(short)).rejects.toThrow('1 bytes came where 2 were announced');
    const endless = receiveFrom(textStream(['a'], true)).body;
    const reading = textOf(endless);
    endless.fail(new TypeError('The page was left'));
    await expect(reading).rejects.toThrow('The page was left');
  });

  test.for([7, 5])('fails when its length differs from the announced one: %d', async (length) => {
    const { stream } = countedStream([bytes(1, 2, 3, 4, 5, 6)]);
    const { body } = receiveFrom(stream, length);
    await expect(new Response(body.readable).arrayBuffer()).rejects.toThrow(
      `6 bytes came where ${length} were announced`,
    );
  });

  test('fails when its source fails', async () => {
    const { stream } = countedStream([bytes(1)], new Error('the snapshot was lost'));
    const { body, onEnd } = receiveFrom(stream);
    const reader = body.readable.getReader();
    await reader.read();
    await expect(reader.read()).rejects.toThrow('the snapshot was lost');
    expect(onEnd).toHaveBeenCalledTimes(1);
  });

  test('notifies its source when the reader cancels', async () => {
    const { stream, seen } = countedStream([bytes(1), bytes(2)]);
    const { body, onEnd } = receiveFrom(stream);
    await body.readable.cancel('enough');
    await vi.waitFor(() => expect(seen.cancelled).toBe('enough'), patient);
    expect(onEnd).toHaveBeenCalledTimes(1);
  });

  test('that is aborted fails for its reader, and notifies its source', async () => {
    const { stream, seen } = countedStream([bytes(1), bytes(2)]);
    const { body } = receiveFrom(stream);
    const reader = body.readable.getReader();
    await reader.read();
    body.fail(new TypeError('left'));
    await expect(reader.read()).rejects.toThrow('left');
    await vi.waitFor(() => expect(seen.cancelled).toBe('TypeError: left'), patient);
  });

  test('keeps its lease while it is not read', async () => {
    const { port1, port2 } = channel();
    receiveBody(port2, undefined, () => {});
    const answer = once(port1, 'message');
    port1.postMessage({ step: 'ask' });
    expect(await answer).toEqual([{ step: 'hold' }]);
  });
});

describe('a body for the worker', () => {
  function offered(source: UnderlyingDefaultSource<unknown>): ByteStream {
    const port = offerBody(new ReadableStream(source, { highWaterMark: 0 }));
    ports.push(port);
    return readBody(portPipe(port));
  }

  test('arrives whole and in order, and is read only on demand', async () => {
    let pulls = 0;
    const stream = offered({
      pull: (controller) => {
        if (pulls++ === 20) controller.close();
        else controller.enqueue(bytes(pulls));
      },
    });
    expect(await stream.pull()).toEqual(bytes(1));
    await new Promise((resolve) => setImmediate(resolve));
    expect(pulls).toBeLessThan(10);
    const rest: Uint8Array[] = [];
    for (let chunk = await stream.pull(); chunk !== undefined; chunk = await stream.pull()) rest.push(chunk);
    expect(rest.map(([first]) => first)).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]);
  });

  test('fails when its source fails', async () => {
    const stream = offered({
      pull: () => {
        throw new Error('the camera was unplugged');
      },
    });
    await expect(stream.pull()).rejects.toThrow('the camera was unplugged');
  });

  test('fails when its source produces anything but bytes', async () => {
    const stream = offered({ pull: (controller) => controller.enqueue('text') });
    await expect(stream.pull()).rejects.toThrow('must contain only Uint8Arrays');
  });

  test('is cancelled when the worker cancels it', async () => {
    const cancel = vi.fn();
    const stream = offered({ pull: (controller) => controller.enqueue(bytes(1)), cancel });
    await stream.pull();
    await stream.cancel('too large');
    await vi.waitFor(() => expect(cancel).toHaveBeenCalledWith('too large'), patient);
  });

  const failing = () => {
    throw new Error('the camera was unplugged');
  };
  test.each<[string, UnderlyingDefaultSource<unknown>, BodyStep, BodyStep[]]>([
    ['has ended', { pull: (controller) => controller.close() }, { step: 'pull', chunks: 1 }, [{ step: 'end' }]],
    ['has failed', { pull: failing }, { step: 'pull', chunks: 1 }, [{ step: 'fail', reason: expect.any(String) }]],
    ['was cancelled', {}, { step: 'cancel', reason: 'too large' }, []],
  ])('closes its port when it %s', async (_how, source, step, last) => {
    const port = offerBody(new ReadableStream(source, { highWaterMark: 0 }));
    ports.push(port);
    const steps: unknown[] = [];
    port.onmessage = ({ data }) => steps.push(data);
    const closed = once(port, 'close');
    port.postMessage(step);
    await closed;
    expect(steps).toEqual(last);
  });
});
