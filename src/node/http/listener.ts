import { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { isDatabaseError } from '../../base/errors/database-error.ts';
import { HELP_HEADER, helpFor } from '../../base/errors/help.ts';
import { assert } from '../../base/shared/assert.ts';
import type { ByteLease } from '../../base/shared/byte-budget.ts';
import type { Handle, PlainHeaders, PlainRequest } from '../../base/shared/message.ts';
import { isThreadWanted, nextTurn, roomInTurn } from '../../base/shared/turn.ts';
import { VERSION } from '../../base/system/version.ts';
import type { Observe } from '../tracing/request-observer.ts';
import { forwardedFor, peerOf } from '../tracing/sender.ts';
import type { BodyRules } from './body-rules.ts';
import { Compression, type CompressionRules, withKnownTags } from './compression.ts';
import { isFullTurn, promisesHandled, TurnQueue } from './fair-work.ts';
import { readBody, toPlainHeaders } from './request-body.ts';
import { returnWhenSent, toResponse } from './response.ts';

/** More responses than this are not sent together. */
const SENT_TOGETHER = 64;

/**
 * Sends responses that are ready in the same turn of the event loop together, at the end of the turn. Sent one by one, each
 * would wake its client process, which would sleep again before the next one arrives: for both sides that costs more than a
 * small request does. A single response is not delayed, because the turn ends when there is no other input. If long work waits for its
 * turn, which it may get at the end of this one, responses don't wait: otherwise each would be sent after a step of that work.
 * Sending hundreds would hold the thread for long: beyond the first ones, they are sent until the turn is full, and the others in later
 * turns. Among those that wait, addresses take turns.
 */
export class AnswerBatch {
  #turnEnd: Promise<void> | undefined;
  /** The number of responses that wait for the end of this turn. */
  #count = 0;
  /** The further ones, by address. */
  readonly #late = new TurnQueue<() => void>();
  #isSendingLate = false;

  /** When a response to that address is sent: a promise for the turn's end, or for a later one; undefined for at once. */
  turnEnd(address: string): Promise<void> | undefined {
    if (isThreadWanted()) return undefined;
    this.#turnEnd ??= new Promise((resolve) => {
      setImmediate(() => {
        this.#turnEnd = undefined;
        this.#count = 0;
        resolve();
        if (!this.#late.isEmpty && !this.#isSendingLate) void this.#sendLate();
      });
    });
    this.#count += 1;
    if (this.#count <= SENT_TOGETHER) return this.#turnEnd;
    return new Promise((resolve) => this.#late.add(address, resolve));
  }

  async #sendLate(): Promise<void> {
    this.#isSendingLate = true;
    while (!this.#late.isEmpty) {
      // What sends the former ones holds the thread, too.
      await promisesHandled();
      if (isFullTurn()) await nextTurn();
      this.#late.take()?.();
    }
    this.#isSendingLate = false;
  }
}

export type NodeListener = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

/** Parts of a listener that most tests do without. */
export interface ListenerOptions extends Pick<BodyRules, 'leastRate'> {
  /** Default: requests are not observed. */
  readonly observe?: Observe | undefined;
  /** Counts the bytes of bodies that arrive before `handle` gets them. Default: not counted. */
  readonly leaseFor?: ((peer: string | undefined, forwarded: string | undefined) => ByteLease) | undefined;
  /** Called at each response. Default: no response is compressed. */
  readonly compression?: (() => CompressionRules) | undefined;
}

const UNCOMPRESSED: CompressionRules = { codings: [], forLoopback: false };

type Bindings = Parameters<Parameters<typeof getRequestListener>[0]>[1];

/**
 * Connects `node:http` to the core's `Handle`. The request is built directly from Node's message, because the web's
 * `Request` would normalize the path and cost ten times as much; @hono/node-server sends the responses.
 *
 * @param onFailure called for requests that `handle` could not answer, and for streams that broke off.
 * @param headersFor returns headers for responses that are created here.
 * @param isOwn whether a connection comes from this process itself. Its requests get no address: it is not a proxy's, whatever it says.
 */
export function createListener(
  handle: Handle,
  onFailure: (request: string, error: unknown) => void,
  headersFor: (incoming: IncomingMessage) => Readonly<Record<string, string>> = () => ({}),
  isOwn: (socket: Socket) => boolean = () => false,
  { leastRate, leaseFor, observe, compression: compressionRules = () => UNCOMPRESSED }: ListenerOptions = {},
): NodeListener {
  const batch = new AnswerBatch();
  const compression = new Compression(compressionRules);

  async function answer(request: Request, bindings: Bindings): Promise<Response> {
    const { incoming, outgoing } = toHttp1(bindings);
    const onBrokenStream = (error: unknown) => onFailure(describe(incoming), error);
    const isFromHere = isOwn(incoming.socket);
    const observed = observe?.(incoming, outgoing, isFromHere ? undefined : peerOf(incoming.socket));
    let lease: ByteLease | undefined;
    try {
      const body = readBody(incoming, {
        leastRate,
        lease: () => {
          lease ??= leaseFor?.(isFromHere ? undefined : peerOf(incoming.socket), forwardedFor(incoming));
          return lease;
        },
        onSilence: () => {
          outgoing.shouldKeepAlive = false;
        },
      });
      const read = body instanceof Promise ? await body : body;
      // The last bytes of a thousand bodies may come in one turn.
      const room = body instanceof Promise ? roomInTurn() : undefined;
      if (room !== undefined) await room;
      const plain = new NodeRequest(request, incoming, read, { isOwn: isFromHere, held: lease, observed });
      const response = await handle(plain);
      if (response.held !== undefined) returnWhenSent(response.held, response.body, outgoing);
      // The core has it, unless another one answered before.
      else if (response.body === null || typeof response.body === 'string') lease?.release();
      const sent = compression.apply(response, plain, incoming.headers['if-none-match']);
      await batch.turnEnd(plain.peer ?? '');
      return toResponse(sent instanceof Promise ? await sent : sent, {
        method: plain.method,
        outgoing,
        onBrokenStream,
      });
    } catch (error) {
      lease?.release();
      if (isDatabaseError(error, 'request_timeout'))
        return ownAnswer(408, 'timeout', error.reason, headersFor(incoming));
      if (isDatabaseError(error, 'too_busy')) {
        return ownAnswer(503, 'service_unavailable', error.reason, { 'retry-after': '5', ...headersFor(incoming) });
      }
      // The client went away: it needs no response, and nothing has failed.
      if (!isDatabaseError(error, 'cancelled')) onFailure(describe(incoming), error);
      return failedAnswer(headersFor(incoming));
    }
  }
  return getRequestListener(answer, { hostname: 'localhost', errorHandler: invalidAddressAnswer });
}

/** A class because of its getter: an accessor in an object literal costs five microseconds. */
class NodeRequest implements PlainRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: PlainHeaders;
  readonly body: PlainRequest['body'];
  readonly peer: string | undefined;
  readonly scheme: 'https' | undefined;
  readonly held: ByteLease | undefined;
  readonly observed: PlainRequest['observed'];
  readonly returnsHeld = true;
  readonly #request: Request;

  constructor(
    request: Request,
    incoming: IncomingMessage,
    body: PlainRequest['body'],
    { isOwn, held, observed }: Pick<PlainRequest, 'held' | 'observed'> & { readonly isOwn: boolean },
  ) {
    this.method = incoming.method ?? 'GET';
    this.url = incoming.url ?? '/';
    const headers = withKnownTags(toPlainHeaders(incoming.headers));
    // Another process to which the request is passed on takes it from there.
    this.headers = observed?.trace === undefined ? headers : { ...headers, ...observed.trace };
    this.body = body;
    this.held = held;
    this.observed = observed;
    this.peer = isOwn ? undefined : peerOf(incoming.socket);
    this.scheme = incoming.socket instanceof TLSSocket ? 'https' : undefined;
    this.#request = request;
  }

  /** Created on demand, because most requests are answered before they could be aborted. */
  get signal(): AbortSignal {
    return this.#request.signal;
  }
}

function toHttp1({ incoming, outgoing }: Bindings): HttpBindings {
  assert(incoming instanceof IncomingMessage && outgoing instanceof ServerResponse, 'the server speaks HTTP/1.1');
  return { incoming, outgoing };
}

function describe(incoming: IncomingMessage): string {
  return `${incoming.method} ${incoming.url}`;
}

/** Headers of the responses that do not come from the core. */
const ownHeaders = {
  'content-type': 'application/json',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  server: `Settee/${VERSION}`,
};

function failedAnswer(more: Readonly<Record<string, string>>): Response {
  return ownAnswer(500, 'unknown_error', 'The service failed to process this request; its log says why.', more);
}

function ownAnswer(
  status: number,
  error: string,
  reason: string,
  more: Readonly<Record<string, string>> = {},
): Response {
  return new Response(`${JSON.stringify({ error, reason })}\n`, {
    status,
    headers: { ...ownHeaders, [HELP_HEADER]: helpFor(error), ...more },
  });
}

/** The response if @hono/node-server can't make a `Request` of the message. */
function invalidAddressAnswer(): Response {
  const reason =
    "The address or the Host header of this request is not valid; percent-encode characters that an address can't contain (a backslash is %5C).";
  return ownAnswer(400, 'bad_request', reason);
}
