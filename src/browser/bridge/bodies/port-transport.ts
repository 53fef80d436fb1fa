/** Carries the bodies of messages that are posted to one receiver: each stream travels as a port that the message transfers. */
import type { ByteStream } from '../../../base/shared/message.ts';
import type { StreamTransport } from '../wire/wire-codec.ts';
import { serveBody } from './body-maker.ts';
import { openBody } from './body-reader.ts';
import { portPipe } from './port-pipe.ts';

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
