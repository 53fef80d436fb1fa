import { afterEach, expect, test, vi } from 'vitest';
import type { PageAnswers, PageCall, WireRequest, WireResponse } from '../../../../src/browser/bridge/wire.ts';
import { isWireStream } from '../../../../src/browser/bridge/wire-codec.ts';
import { createBusyPoll, servePageCalls } from '../../../../src/browser/worker/page-calls.ts';
import { patient } from '../../../support/patience.ts';

const request: WireRequest = { method: 'GET', url: 'https://app.example/db/a', headers: {}, body: null };
const found: WireResponse = { status: 200, headers: {}, body: '{}' };
const ports: MessagePort[] = [];

afterEach(() => {
  for (const port of ports.splice(0)) port.close();
});

function pageOf(endpoint: {
  handle(request: WireRequest, call?: number): Promise<WireResponse>;
  abort?(call: number): void;
}) {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  const messages: PageAnswers[] = [];
  port1.onmessage = ({ data }) => messages.push(data);
  servePageCalls(port2, { abort: () => {}, ...endpoint });
  port2.start();
  return { messages, say: (...calls: readonly PageCall[]) => port1.postMessage({ calls }), port1 };
}

function asked(call: number, isAbortable = false): PageCall {
  const { method, url, headers, body } = request;
  return [call, method, url, headers, body, isAbortable];
}

test('responses that are ready together are sent as one message, and the others as they come', async () => {
  let release: (response: WireResponse) => void = () => {};
  const handle = vi.fn(async (_request: WireRequest) => found);
  handle.mockImplementationOnce(() => new Promise((resolve) => (release = resolve)));
  const { messages, say } = pageOf({ handle });
  say(asked(7), asked(8), asked(9));
  await vi.waitFor(() => expect(messages).toHaveLength(1), patient);
  release({ ...found, status: 404 });
  await vi.waitFor(() => expect(messages).toHaveLength(2), patient);
  expect(messages).toEqual([
    {
      answers: [
        [8, 200, {}, '{}'],
        [9, 200, {}, '{}'],
      ],
    },
    { answers: [[7, 404, {}, '{}']] },
  ]);
});

test("a request that can't be carried out fails, and no other with it", async () => {
  const handle = vi.fn(async () => found);
  handle.mockRejectedValueOnce(new Error('the stream broke'));
  const { messages, say } = pageOf({ handle });
  say(asked(1), asked(2));
  await vi.waitFor(() => expect(messages.flatMap(({ answers }) => answers)).toHaveLength(2), patient);
  expect(messages.flatMap(({ answers }) => answers)).toEqual(
    expect.arrayContaining([
      [1, 'Error: the stream broke'],
      [2, 200, {}, '{}'],
    ]),
  );
});

test('a request that can be aborted is handled under its number, and an abort is passed on', async () => {
  const handle = vi.fn(() => new Promise<never>(() => {}));
  const abort = vi.fn();
  const { say } = pageOf({ handle, abort });
  say(asked(1), asked(2, true), [2]);
  await vi.waitFor(() => expect(abort).toHaveBeenCalled(), patient);
  expect(handle.mock.calls).toEqual([
    [request, undefined],
    [request, 2],
  ]);
  expect(abort.mock.calls).toEqual([[2]]);
});

test("a body's port is sent with its response", async () => {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1);
  const { messages, say } = pageOf({ handle: async () => ({ ...found, body: { stream: port2 } }) });
  say(asked(1));
  await vi.waitFor(() => expect(messages).toHaveLength(1), patient);
  const heard = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
  const body = messages[0]?.answers[0]?.[3];
  if (body === undefined || !isWireStream(body)) throw new Error('There is no stream');
  if (!(body.stream instanceof MessagePort)) throw new Error('The stream is no port');
  body.stream.postMessage('from the page');
  expect(await heard).toBe('from the page');
  body.stream.close();
});

test('other messages on the same port are ignored', async () => {
  const handle = vi.fn(async () => found);
  const { messages, say, port1 } = pageOf({ handle });
  for (const other of [{ id: 'x', type: 'APPLY', path: ['open'] }, 'text', null, 5]) port1.postMessage(other);
  say(asked(1));
  await vi.waitFor(() => expect(messages).toHaveLength(1), patient);
  expect(handle).toHaveBeenCalledTimes(1);
});

test('the worker is notified of requests before they are handled, and of responses after they were sent', async () => {
  const { port1, port2 } = new MessageChannel();
  ports.push(port1, port2);
  const happened: string[] = [];
  const note = (what: string) => () => void happened.push(what);
  const page = {
    addEventListener: port2.addEventListener.bind(port2),
    postMessage: note('sent'),
  };
  const handle = () => {
    happened.push('handled');
    return found;
  };
  const busyPoll = createBusyPoll();
  vi.spyOn(busyPoll, 'onRequest').mockImplementation(note('asked'));
  vi.spyOn(busyPoll, 'onAnswer').mockImplementation(note('answered'));
  servePageCalls(page, { abort: () => {}, handle }, busyPoll);
  port2.start();
  port1.postMessage({ calls: [asked(1)] });
  await vi.waitFor(() => expect(happened).toEqual(['asked', 'handled', 'sent', 'answered']), patient);
});
