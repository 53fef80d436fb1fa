/**
 * Bodies between a page and its own worker, each over a port of its own, in the steps of `browser/bridge/wire.ts`. A page needs less than
 * `browser/bridge/body-streams.ts` has: the worker ends with the page, so that neither side must notice the loss of the other, and the web's streams keep
 * reads and chunks in order by themselves.
 */
import type { BodyStep } from '../bridge/wire.ts';

export interface IncomingBody {
  readonly readable: ReadableStream<Uint8Array>;
  /**
   * Reads the body as text, piece by piece as it arrives, instead of through `readable`, which is then locked. Resolves at its end. Throws a
   * TypeError if it is already locked.
   */
  readText(take: (piece: string) => void): Promise<void>;
  /** Breaks it off: its reader gets the error, and its sender stops. Does nothing after its end. */
  fail(error: unknown): void;
}

/** Where chunks go. */
interface Sink {
  enqueue(chunk: Uint8Array): void;
  close(): void;
  error(reason: unknown): void;
}

/**
 * How many chunks are granted at a time to a reader that wants all of them, so that the sender goes on while they are parsed. One message
 * grants half of them, since a message takes as long as parsing a chunk.
 */
const WINDOW = 16;

/** Grants no chunks before it is read. A body that breaks off fails. `onEnd` is called when it is over, however it ends. */
export function receiveBody(
  port: MessagePort,
  length: number | undefined,
  onEnd: (body: IncomingBody) => void,
): IncomingBody {
  /** Defined until the body is over. */
  let sink: Sink | undefined;
  let received = 0;
  const take = (bytes: Uint8Array) => {
    received += bytes.byteLength;
    sink?.enqueue(bytes);
  };
  let takeText = (text: string) => take(new TextEncoder().encode(text));
  const send = (step: BodyStep) => port.postMessage(step);
  const finish = () => {
    const last = sink;
    sink = undefined;
    port.close();
    onEnd(body);
    return last;
  };
  const cancel = (reason: unknown) => {
    send({ step: 'cancel', reason: String(reason) });
    return finish();
  };
  port.onmessage = ({ data }: MessageEvent<BodyStep>) => {
    if (data.step === 'chunk') take(data.bytes);
    else if (data.step === 'text') takeText(data.text);
    else if (data.step === 'ask') send({ step: 'hold' });
    else if (data.step === 'fail') finish()?.error(new TypeError(data.reason));
    else if (length === undefined || received === length) finish()?.close();
    else finish()?.error(new TypeError(`The body broke off: ${received} bytes came where ${length} were announced`));
  };
  const pull = (chunks = 1) => send({ step: 'pull', chunks });
  const body: IncomingBody = {
    readable: new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          sink = controller;
        },
        pull: () => pull(),
        cancel: (reason) => void cancel(reason),
      },
      { highWaterMark: 0 },
    ),
    readText: (give) => {
      const reader = body.readable.getReader();
      const decoder = new TextDecoder();
      let taken = 0;
      takeText = (text) => {
        if (++taken % (WINDOW / 2) === 0) pull(WINDOW / 2);
        give(text);
      };
      return new Promise((resolve, error) => {
        // A body that failed before no longer has a sink; its reader has the error.
        void reader.closed.catch(error);
        sink &&= {
          enqueue: (chunk) => takeText(decoder.decode(chunk, { stream: true })),
          close: () => {
            give(decoder.decode());
            resolve();
          },
          error,
        };
        pull(WINDOW);
      });
    },
    fail: (error) => cancel(error)?.error(error),
  };
  return body;
}

/**
 * Offers a body to the worker: returns the port for it. Reads no more than the worker grants credit for. Closes its own end when the
 * body is over: WebKit keeps that end for as long as the page lives, though the worker has closed the other, and looks for messages at each
 * end that it keeps whenever a message comes by any port of the page.
 */
export function offerBody(readable: ReadableStream<unknown>): MessagePort {
  const { port1, port2 } = new MessageChannel();
  const reader = readable.getReader();
  const send = (step: BodyStep) => port1.postMessage(step);
  const end = (step: BodyStep) => {
    send(step);
    port1.close();
  };
  const fail = (reason: unknown) => end({ step: 'fail', reason: String(reason) });
  const sendNext = async () => {
    const { done, value } = await reader.read();
    if (value instanceof Uint8Array) send({ step: 'chunk', bytes: value });
    else if (done) end({ step: 'end' });
    else throw new TypeError('A stream that is sent must contain only Uint8Arrays');
  };
  port1.onmessage = ({ data }: MessageEvent<BodyStep>) => {
    if (data.step === 'cancel') {
      port1.close();
      void reader.cancel(data.reason).catch(() => {});
    } else if (data.step === 'pull') for (let left = data.chunks; left > 0; left--) sendNext().catch(fail);
  };
  return port2;
}
