import { IncomingMessage, ServerResponse } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { getRequestListener } from '@hono/node-server';
import { isDatabaseError } from '../../errors/database-error.ts';
import { assert } from '../../shared/assert.ts';
import type { Handle, PlainHeaders, PlainRequest } from '../../shared/message.ts';
import { VERSION } from '../../system/version.ts';
import { Outbox } from './answer-batch.ts';
import { readBody } from './request-body.ts';
import { toResponse } from './response.ts';

export type NodeListener = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

type Bindings = Parameters<Parameters<typeof getRequestListener>[0]>[1];

/**
 * Connects `node:http` to the one door. A request is built straight from the incoming message, because the web's
 * `Request` would normalise the path and cost ten times as much; @hono/node-server does the answering half.
 *
 * @param onFailure told of what `handle` was not able to answer, and of streams that broke off.
 */
export function createListener(handle: Handle, onFailure: (request: string, error: unknown) => void): NodeListener {
  const outbox = new Outbox();

  async function answer(request: Request, bindings: Bindings): Promise<Response> {
    const { incoming, outgoing } = toHttp1(bindings);
    const onBrokenStream = (error: unknown) => onFailure(describe(incoming), error);
    try {
      const body = readBody(incoming);
      const plain = new NodeRequest(request, incoming, body instanceof Promise ? await body : body);
      const response = await handle(plain);
      await outbox.departure();
      return toResponse(response, { method: plain.method, outgoing, onBrokenStream });
    } catch (error) {
      // A client that went away needs no answer, and its leaving is no failure of ours.
      if (!isDatabaseError(error, 'cancelled')) onFailure(describe(incoming), error);
      return unanswerable();
    }
  }
  return getRequestListener(answer, { hostname: 'localhost', errorHandler: unreadable });
}

/** A class for the sake of its one getter: an accessor in an object literal costs five microseconds. */
class NodeRequest implements PlainRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: PlainHeaders;
  readonly body: PlainRequest['body'];
  readonly #request: Request;

  constructor(request: Request, incoming: IncomingMessage, body: PlainRequest['body']) {
    this.method = incoming.method ?? 'GET';
    this.url = incoming.url ?? '/';
    this.headers = toPlainHeaders(incoming.headers);
    this.body = body;
    this.#request = request;
  }

  /** Made when it is asked for: most requests are answered before anyone could abort them. */
  get signal(): AbortSignal {
    return this.#request.signal;
  }
}

type IncomingHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Node has names in lower case and repeated lines joined already, but for `Set-Cookie`, which no request should have. */
function toPlainHeaders(headers: IncomingHeaders): PlainHeaders {
  if (isPlain(headers)) return headers;
  const { 'set-cookie': _, ...others } = headers;
  assert(isPlain(others), 'only Set-Cookie has several lines');
  return others;
}

function isPlain(headers: IncomingHeaders): headers is PlainHeaders {
  return headers['set-cookie'] === undefined;
}

function toHttp1({ incoming, outgoing }: Bindings): HttpBindings {
  assert(incoming instanceof IncomingMessage && outgoing instanceof ServerResponse, 'the server speaks HTTP/1.1');
  return { incoming, outgoing };
}

function describe(incoming: IncomingMessage): string {
  return `${incoming.method} ${incoming.url}`;
}

/** Of answers that are not the core's. */
const ownHeaders = { 'content-type': 'application/json', 'cache-control': 'no-store', server: `Settee/${VERSION}` };

function unanswerable(): Response {
  const body = '{"error":"unknown_error","reason":"The service failed on this request; its log says why."}\n';
  return new Response(body, { status: 500, headers: ownHeaders });
}

/** For what @hono/node-server can't make a `Request` of. */
function unreadable(): Response {
  const reason =
    'The address or the Host header of this request is not valid; percent-encode what has no place in an address (a backslash is %5C).';
  const body = `${JSON.stringify({ error: 'bad_request', reason })}\n`;
  return new Response(body, { status: 400, headers: ownHeaders });
}
