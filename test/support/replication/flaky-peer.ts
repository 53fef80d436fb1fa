/** A service on the network of MSW, whose responses a test may alter: a core in memory that is accessed with `fetch`. */
import { HttpResponse, http } from 'msw';
import { setupServer } from 'msw/node';
import type { Core } from '../../../src/core/core.ts';
import { createFetch } from '../../../src/http/fetch-adapter.ts';
import { newCore } from '../../unit/replication/support.ts';

/** A request to which a fault may apply. `answer` has it carried out, and `number` counts the requests from 1. */
export interface FaultyRequest {
  readonly request: Request;
  readonly number: number;
  /** Below the service, with the query. */
  readonly path: string;
  readonly answer: () => Promise<Response>;
}

/** Undefined if there is no fault. */
export type Fault = (asked: FaultyRequest) => Promise<Response | undefined> | Response | undefined;

export class FlakyNetwork {
  readonly #server = setupServer();
  #peers = 0;

  constructor() {
    this.#server.listen({ onUnhandledRequest: 'bypass' });
  }

  async peer(): Promise<FlakyPeer> {
    const peer = new FlakyPeer(`http://peer-${++this.#peers}.test`, await newCore());
    this.#server.use(http.all(`${peer.url}/*`, ({ request }) => peer.take(request)));
    return peer;
  }

  close(): void {
    this.#server.close();
  }
}

export class FlakyPeer {
  readonly url: string;
  core: Core;
  fault: Fault | undefined;
  /** `METHOD /path`, with no query. */
  requests: string[] = [];

  constructor(url: string, core: Core) {
    this.url = url;
    this.core = core;
  }

  async take(request: Request): Promise<Response> {
    const { pathname, search } = new URL(request.url);
    this.requests.push(`${request.method} ${pathname}`);
    const answer = () => createFetch(this.core.handle)(request);
    const number = this.requests.length;
    return (await this.fault?.({ request, number, path: `${pathname}${search}`, answer })) ?? answer();
  }
}

export const refused = (): Response => HttpResponse.error();

export function failure(status: number, headers: Readonly<Record<string, string>> = {}): Response {
  const [error, reason] = NAMES[status] ?? ['unknown_error', 'something'];
  return HttpResponse.json({ error, reason }, { status, headers });
}

const NAMES: Readonly<Record<number, readonly [error: string, reason: string]>> = {
  401: ['unauthorized', 'You are not authorized to access this db.'],
  403: ['forbidden', 'this service is to be read only'],
  405: ['method_not_allowed', 'Only GET,HEAD allowed'],
  413: ['too_large', 'the request entity is too large'],
  429: ['too_many_requests', 'later'],
};

/** The beginning of a response, after which the connection breaks off, or ends as if that were everything. */
export async function cutOff(response: Response, how: 'reset' | 'end' | 'silence'): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const some = bytes.subarray(0, Math.floor(bytes.length / 2));
  let isSent = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (!isSent) {
        isSent = true;
        if (some.length > 0) return controller.enqueue(some);
      }
      if (how === 'reset') controller.error(new TypeError('terminated'));
      if (how === 'end') controller.close();
      return how === 'silence' ? new Promise<never>(() => {}) : undefined;
    },
  });
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  return new Response(response.status === 204 ? null : body, { status: response.status, headers });
}

/** Applies to every nth request: `every(3, …)` hits the third, the sixth, … */
export function every(count: number, fault: (asked: FaultyRequest) => Promise<Response> | Response): Fault {
  return (asked) => (asked.number % count === 0 ? fault(asked) : undefined);
}
