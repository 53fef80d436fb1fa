import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Refusal, refuseUnanswered, unreadableRefusal } from './refusals.ts';

interface Exchange {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** The previous one, until it is answered. */
  previous: Exchange | undefined;
}

/**
 * Answers the requests of each connection one after another: Node passes on pipelined requests at once, but a read must see the write before it
 * (RFC 9112, 9.3.2). Requests that Node passes to no listener are answered in the same order, so that clients match responses to requests correctly.
 */
export class Exchanges {
  readonly #last = new WeakMap<Socket, Exchange>();
  /** Connections from which nothing more is read. */
  readonly #ended = new WeakSet<Socket>();

  /** The response to the last request of the connection. */
  lastAnswer(socket: Socket): ServerResponse | undefined {
    return this.#last.get(socket)?.outgoing;
  }

  /** Calls `answer` when all earlier requests of the connection are answered, unless the connection has ended by then. */
  begin(incoming: IncomingMessage, outgoing: ServerResponse, answer: () => void): void {
    const { socket } = incoming;
    const exchange: Exchange = { incoming, outgoing, previous: this.#last.get(socket) };
    this.#last.set(socket, exchange);
    afterAnswer(exchange.previous, () => {
      exchange.previous = undefined;
      if (!socket.destroyed && !this.#ended.has(socket)) answer();
    });
  }

  /** The connection's next requests are not answered. */
  end(socket: Socket): void {
    this.#ended.add(socket);
  }

  /** Refuses what came after the last request, and closes the connection. */
  refuseRest(socket: Socket, refusal: Refusal): void {
    if (this.#ended.has(socket)) return;
    this.end(socket);
    afterAnswer(this.#last.get(socket), () => refuseUnanswered(refusal, socket));
  }

  /** Node's parser could not read what came. */
  refuseUnreadable(socket: Socket, error: Error): void {
    if (!socket.writable) {
      socket.destroySoon();
      return;
    }
    const last = this.#last.get(socket);
    // Its response may wait for the rest of the body, so that this one is sent in its place, or nothing.
    const isInBody = last !== undefined && !last.incoming.complete;
    if (!isInBody) this.refuseRest(socket, unreadableRefusal(error));
    if (!isInBody || this.#ended.has(socket)) return;
    this.end(socket);
    if (last.outgoing.headersSent) socket.destroy();
    else afterAnswer(last.previous, () => refuseUnanswered(unreadableRefusal(error), socket));
  }
}

function afterAnswer(previous: Exchange | undefined, next: () => void): void {
  if (previous === undefined || previous.outgoing.writableFinished) next();
  else previous.outgoing.once('close', next);
}
