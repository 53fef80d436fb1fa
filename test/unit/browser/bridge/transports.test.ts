import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PlainRequest, PlainResponse } from '../../../../src/base/shared/message.ts';
import { ChannelPipes, PortTransport } from '../../../../src/browser/bridge/stream-transports.ts';
import type { BodyStep, WireRequest, WireResponse } from '../../../../src/browser/bridge/wire.ts';
import {
  requestFromWire,
  responseFromWire,
  responseToWire,
  type StreamTransport,
} from '../../../../src/browser/bridge/wire-codec.ts';
import { requestToWire } from './request-to-wire.ts';
import { bytes, messagesArrived, readAll, type Source, sourceOf, streamOf, until } from './support.ts';

/** Both ends of a way, and what a message becomes on it. */
interface Way {
  readonly from: StreamTransport;
  readonly to: StreamTransport;
  send<M>(message: M): Promise<M>;
  close(): void;
}

function ports(): Way {
  const from = new PortTransport();
  const { port1, port2 } = new MessageChannel();
  return {
    from,
    to: new PortTransport(),
    send: (message) =>
      new Promise((resolve) => {
        port2.onmessage = ({ data }) => resolve(data);
        port1.postMessage(message, from.transfer);
      }),
    close: () => port1.close(),
  };
}

function channels(): Way {
  const pair = [new BroadcastChannel('bodies'), new BroadcastChannel('bodies')] as const;
  const posted = (channel: BroadcastChannel) => (peer: string, stream: string, step: BodyStep) =>
    channel.postMessage({ peer, stream, step });
  const [left, right] = [new ChannelPipes(posted(pair[0])), new ChannelPipes(posted(pair[1]))];
  pair[0].onmessage = ({ data }) => left.deliver('right', data.stream, data.step);
  pair[1].onmessage = ({ data }) => right.deliver('left', data.stream, data.step);
  return {
    from: left.transportFor('right'),
    to: right.transportFor('left'),
    send: async (message) => structuredClone(message),
    close: () => {
      for (const channel of pair) channel.close();
    },
  };
}

const request = (body: PlainRequest['body']): PlainRequest => ({
  method: 'PUT',
  url: 'https://app.example/db/notes/a',
  headers: { 'content-type': 'application/json' },
  body,
});

const response = (body: PlainResponse['body']): PlainResponse => ({ status: 200, headers: { etag: '"1-a"' }, body });

describe.each([
  ['ports', () => ports()],
  ['channels', channels],
])('over %s', (_name, open) => {
  async function carried(sent: PlainRequest): Promise<[PlainRequest, WireRequest, Way]> {
    const way = open();
    const wire = await way.send(await requestToWire(sent, way.from));
    return [requestFromWire(wire, way.to), wire, way];
  }

  async function answered(sent: PlainResponse): Promise<[PlainResponse, WireResponse, Way]> {
    const way = open();
    const wire = await way.send(await responseToWire(sent, way.from));
    return [responseFromWire(wire, way.to), wire, way];
  }

  test.each([
    ['none', null],
    ['text', '{"a":"ä🎉"}'],
    ['no text', ''],
    ['bytes', bytes(0, 255, 128)],
  ])('a body that is %s is sent with the request', async (_kind, body) => {
    const [asked, , way] = await carried(request(body));
    expect(asked).toEqual(request(body));
    way.close();
    const [answer, , back] = await answered(response(body));
    expect(answer).toEqual(response(body));
    back.close();
  });

  test('a Blob is sent by reference', async () => {
    const [asked, wire, way] = await carried(request(new Blob(['abc'])));
    expect(wire.body).toBeInstanceOf(Blob);
    expect(asked.body instanceof Blob ? await asked.body.text() : 'no Blob').toBe('abc');
    way.close();
  });

  test('a stream that is known to be small is sent with the request', async () => {
    const source = sourceOf([bytes(1, 2), bytes(3)], { length: 3 });
    const [asked, , way] = await carried(request(source));
    expect(asked.body).toEqual(bytes(1, 2, 3));
    way.close();
  });

  test.each([
    ['short', [bytes(1)], '1 bytes came where 2 were announced'],
    ['long', [bytes(1, 2), bytes(3)], 'longer than the 2 bytes'],
  ])('a small stream that is too %s is not sent', async (_kind, chunks, message) => {
    const way = open();
    await expect(Promise.resolve(responseToWire(response(sourceOf(chunks, { length: 2 })), way.from))).rejects.toThrow(
      message,
    );
    way.close();
  });

  test('a larger stream is piped with its length, and nothing is produced before it is read', async () => {
    const chunks = Array.from({ length: 5 }, (_, index) => new Uint8Array(20_000).fill(index));
    const whole = chunks.flatMap((chunk) => [...chunk]);
    const source = sourceOf(chunks, { length: 100_000 });
    const [answer, , way] = await answered(response(source));
    const body = streamOf(answer.body);
    await messagesArrived();
    expect([body.length, source.pulls]).toEqual([100_000, 0]);
    expect(await readAll(body)).toEqual(whole);
    way.close();
  });

  test('a stream of unknown length is piped, whatever its chunks', async () => {
    const pieces = fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(pieces, async (chunks) => {
        const whole = chunks.flatMap((chunk) => [...chunk]);
        const [asked, , way] = await carried(request(sourceOf(chunks)));
        expect(streamOf(asked.body).length).toBeUndefined();
        expect(await readAll(streamOf(asked.body))).toEqual(whole);
        way.close();
      }),
      { numRuns: 30 },
    );
  });

  test('a stream whose reader cancels is cancelled', async () => {
    const source = sourceOf([bytes(1)], { isEndless: true });
    const [answer, , way] = await answered(response(source));
    const body = streamOf(answer.body);
    expect(await body.pull()).toEqual(bytes(1));
    await body.cancel('seen enough');
    await until(() => source.cancelled === 'seen enough');
    way.close();
  });

  test('a stream that fails is passed on as a failure', async () => {
    const [answer, , way] = await answered(response(sourceOf([bytes(1)], { failure: new Error('broken') })));
    const body = streamOf(answer.body);
    expect(await body.pull()).toEqual(bytes(1));
    await expect(body.pull()).rejects.toThrow('broken');
    way.close();
  });

  test('a stream that ends short of its length fails', async () => {
    const [answer, , way] = await answered(response(sourceOf([bytes(1)], { length: 100_000 })));
    await expect(readAll(streamOf(answer.body))).rejects.toThrow('1 bytes came where 100000 were announced');
    way.close();
  });
});

describe('pipes of channels', () => {
  const none = (): void => {};

  test('know how many bodies are open', async () => {
    const way = channels();
    const pipes = new ChannelPipes(none);
    expect(pipes.openBodies('peer')).toBe(0);
    const body = pipes.transportFor('peer').open('one');
    pipes.transportFor('peer').offer(sourceOf([]));
    expect([pipes.openBodies('peer'), pipes.openBodies('other')]).toEqual([2, 0]);
    await body.cancel();
    expect(pipes.openBodies('peer')).toBe(1);
    pipes.endPeer('peer', 'gone');
    expect(pipes.openBodies('peer')).toBe(0);
    way.close();
  });

  test('end everything that a vanished peer produced or read, and nothing of others', async () => {
    const pipes = new ChannelPipes(none);
    const [uploads, others]: [Source, Source] = [sourceOf([]), sourceOf([])];
    pipes.transportFor('peer').offer(uploads);
    pipes.transportFor('other').offer(others);
    const failing = expect(pipes.transportFor('peer').open('one').pull()).rejects.toThrow('the tab was closed');
    pipes.endPeer('peer', 'the tab was closed');
    await failing;
    expect([uploads.cancelled, others.cancelled]).toEqual(['the tab was closed', undefined]);
    pipes.endAll('done');
    expect(others.cancelled).toBe('done');
  });

  test('notify the peers when this side leaves', () => {
    const posted: [string, string][] = [];
    const pipes = new ChannelPipes((peer, _stream, { step }) => posted.push([peer, step]));
    pipes.transportFor('a').open('one');
    pipes.transportFor('b').offer(sourceOf([]));
    pipes.endAll('leaving');
    expect(posted).toEqual([
      ['a', 'cancel'],
      ['b', 'fail'],
    ]);
  });
});
