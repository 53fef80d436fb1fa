/** Carries the bodies of messages that are posted to one receiver: each stream travels as a port that the message transfers. */
import type { ByteStream } from '../../../base/shared/message.ts';
import type { StreamTransport } from '../wire/wire-codec.ts';
import { asBodyStep } from '../wire/wire-decoding.ts';
import { serveBody } from './body-maker.ts';
import { openBody } from './body-reader.ts';
import { type StepPipe, toMovable } from './steps.ts';

/** Steps of a body over a MessagePort of its own: the route between a page and its worker. */
export function portPipe(port: MessagePort): StepPipe {
  return {
    send: (step, isMovable = false) => port.postMessage(step, isMovable ? toMovable(step, true).transfer : []),
    listen: (listener) => {
      port.onmessage = ({ data }: MessageEvent<unknown>) => {
        const step = asBodyStep(data);
        if (step !== undefined) listener(step);
      };
    },
    close: () => port.close(),
  };
}

/** One per message. */
export class PortTransport implements StreamTransport {
  /** To be transferred with the message. */
  readonly transfer: MessagePort[] = [];

  offer(stream: ByteStream): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.transfer.push(port2);
    serveBody(stream, portPipe(port1));
    return port2;
  }

  open(stream: MessagePort | string, length?: number): ByteStream {
    if (typeof stream === 'string') throw new Error('A body over a port has a port, not a name');
    return openBody(portPipe(stream), length);
  }
}
