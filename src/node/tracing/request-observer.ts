/** Requests as those see them who watch the server: the access log, spans, and the trace that a client says they belong to. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ObservedRequest, PlainHeaders } from '../../base/shared/message.ts';
import { clientAddressOf } from '../../base/system/config.ts';
import type { Config } from '../../base/system/contract.ts';
import { accessEntry } from './access-log.ts';
import { requests, type TracedRequest } from './channels.ts';
import { forwardedFor } from './sender.ts';
import { formatTrace, newSpanId, parseTrace, traceHeaders } from './trace-context.ts';

const MAX_PATH_LENGTH = 1_024;
const MAX_METHOD_LENGTH = 64;

/** Called at the head of each request. Undefined if nobody wants to know of it; then it costs nothing. */
export type Observe = (
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  peer: string | undefined,
) => ObservedRequest | undefined;

export interface ObserverOptions {
  /** Called at each request that is observed. */
  readonly config: () => Config;
  /**
   * Whether the sender may say that its trace is recorded. `peer`: its address, undefined for this process. `forwarded`: `X-Forwarded-For`. Called at
   * each request that somebody watches.
   */
  readonly trusts: (peer: string | undefined, forwarded: string | undefined) => boolean;
  /** Whether requests are lines of JSON in the log. Called at each request. */
  readonly hasAccessLog: () => boolean;
  /** Takes one line without a newline at its end. */
  readonly write: (line: string) => void;
}

export function createObserver({ config, trusts, hasAccessLog, write }: ObserverOptions): Observe {
  return (incoming, outgoing, peer) => {
    const isLogged = hasAccessLog();
    const isHeard = requests.isHeard;
    if (!isLogged && !isHeard && incoming.headers['traceparent'] === undefined) return undefined;
    const trace = parseTrace(incoming.headers);
    if (!isLogged && !isHeard) return trace && observedIn(outgoing, traceHeaders(trace), formatTrace(trace));
    const forwarded = forwardedFor(incoming);
    const address = clientAddressOf(config(), peer, forwarded);
    const request = describe(incoming, address, { trace, isTraceTrusted: trusts(peer, forwarded) });
    if (isHeard) requests.begin(request);
    const observed =
      request.trace === undefined ? {} : observedIn(outgoing, traceHeaders(request.trace), formatTrace(request.trace));
    const began = performance.now();
    const beganMs = Date.now();
    // Bytes of former responses of the connection come before it.
    const { socket } = incoming;
    const before = socket.bytesWritten;
    outgoing.once('close', () => {
      request.status = outgoing.statusCode;
      request.bytes = socket.bytesWritten - before;
      request.user = observed.user ?? null;
      request.isAborted = !outgoing.writableFinished;
      if (isHeard) requests.end(request);
      if (isLogged) write(accessEntry(request, beganMs, performance.now() - began));
    });
    return observed;
  };
}

function observedIn(outgoing: ServerResponse, trace: PlainHeaders, traceresponse: string): ObservedRequest {
  outgoing.setHeader('traceresponse', traceresponse);
  return { trace };
}

function describe(
  { method = 'GET', url = '/' }: IncomingMessage,
  address: string,
  traced: Pick<TracedRequest, 'trace' | 'isTraceTrusted'>,
): TracedRequest {
  const path = url.replace(/^[a-z][a-z\d+.-]*:\/\/[^/?#]*/i, '').replace(/[?#].*$/s, '');
  return {
    id: newSpanId(),
    method: method.slice(0, MAX_METHOD_LENGTH),
    path: path.slice(0, MAX_PATH_LENGTH),
    database: databaseOf(path),
    peer: address === '' ? null : address,
    ...traced,
  };
}

const SYSTEM_DATABASES: ReadonlySet<string> = new Set(['_users', '_replicator', '_global_changes']);

function databaseOf(path: string): string | null {
  const [, first = ''] = /^\/+([^/]{1,1024})/.exec(path) ?? [];
  if (first === '' || (first.startsWith('_') && !SYSTEM_DATABASES.has(first))) return null;
  try {
    return decodeURIComponent(first);
  } catch {
    return null;
  }
}
