/**
 * How the bodies of messages travel. To one receiver, each as a port that the message transfers. Over channels, which transfer nothing, each
 * has a name, and its steps are messages between this participant and one peer.
 */

import type { ByteStream } from '../../base/shared/message.ts';
import { readBody, type StepPipe, sendBody, toMovable } from './body-streams.ts';
import type { BodyStep } from './wire.ts';
import { asBodyStep, type StreamTransport } from './wire-codec.ts';

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

/** Carries the bodies of one message that is posted to one receiver. */
export class PortTransport implements StreamTransport {
  /** To be transferred with the message. */
  readonly transfer: MessagePort[] = [];

  offer(stream: ByteStream): MessagePort {
    const { port1, port2 } = new MessageChannel();
    this.transfer.push(port2);
    sendBody(stream, portPipe(port1));
    return port2;
  }

  open(stream: MessagePort | string, length?: number): ByteStream {
    if (typeof stream === 'string') throw new Error('A body over a port has a port, not a name');
    return readBody(portPipe(stream), length);
  }
}

/** Sends a step to the peer's channel; throws nothing. `isMovable`: see `StepPipe`. */
export type PostStep = (peer: string, stream: string, step: BodyStep, isMovable: boolean) => void;

/** All bodies of one participant that travel over channels. */
export class ChannelPipes {
  readonly #post: PostStep;
  /** By peer, then by the stream's name. */
  readonly #pipes = new Map<string, Map<string, NamedPipe>>();

  constructor(post: PostStep) {
    this.#post = post;
  }

  /** Carries the bodies of messages to and from that peer. */
  transportFor(peer: string): StreamTransport {
    return {
      offer: (stream) => this.#offer(peer, stream),
      open: (stream, length) => this.#open(peer, stream, length),
    };
  }

  /** Takes a step that came in from the peer. Steps of bodies that are over are dropped. */
  deliver(peer: string, stream: string, step: BodyStep): void {
    this.#pipes.get(peer)?.get(stream)?.deliver(step);
  }

  /** How many bodies are open, from or to that peer. */
  openBodies(peer: string): number {
    return this.#pipes.get(peer)?.size ?? 0;
  }

  /** The peer is gone: the bodies that it made fail, those that it read are cancelled. */
  endPeer(peer: string, reason: string): void {
    for (const pipe of [...(this.#pipes.get(peer)?.values() ?? [])]) pipe.end(reason);
  }

  /** This participant leaves: all bodies end as if every peer were gone, and a message tells the peers so. */
  endAll(reason: string): void {
    for (const pipes of [...this.#pipes.values()]) {
      for (const pipe of [...pipes.values()]) {
        pipe.send(pipe.isSender ? { step: 'fail', reason } : { step: 'cancel', reason });
        pipe.end(reason);
      }
    }
  }

  #offer(peer: string, stream: ByteStream): string {
    const name = crypto.randomUUID();
    sendBody(stream, this.#pipe(peer, name, true));
    return name;
  }

  #open(peer: string, stream: MessagePort | string, length: number | undefined): ByteStream {
    if (typeof stream !== 'string') throw new Error('A body over a channel has a name, not a port');
    return readBody(this.#pipe(peer, stream, false), length, { isWatched: true });
  }

  #pipe(peer: string, name: string, isSender: boolean): StepPipe {
    const pipes = this.#pipes.get(peer) ?? new Map<string, NamedPipe>();
    this.#pipes.set(peer, pipes);
    const pipe = new NamedPipe(
      isSender,
      (step, canMove = false) => this.#post(peer, name, step, canMove),
      () => {
        pipes.delete(name);
        if (pipes.size === 0 && this.#pipes.get(peer) === pipes) this.#pipes.delete(peer);
      },
    );
    pipes.set(name, pipe);
    return pipe;
  }
}

class NamedPipe implements StepPipe {
  readonly isSender: boolean;
  readonly send: (step: BodyStep, isMovable?: boolean) => void;
  readonly close: () => void;
  #listener: ((step: BodyStep) => void) | undefined;
  #early: BodyStep[] = [];

  constructor(isSender: boolean, send: (step: BodyStep) => void, close: () => void) {
    this.isSender = isSender;
    this.send = send;
    this.close = close;
  }

  listen(listener: (step: BodyStep) => void): void {
    this.#listener = listener;
    const early = this.#early;
    this.#early = [];
    for (const step of early) listener(step);
  }

  /** Ends this side the way the other side would. */
  end(reason: string): void {
    this.deliver(this.isSender ? { step: 'cancel', reason } : { step: 'fail', reason });
    this.close();
  }

  deliver(step: BodyStep): void {
    if (this.#listener === undefined) this.#early.push(step);
    else this.#listener(step);
  }
}
