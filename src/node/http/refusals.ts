/** Requests that are refused here, without the service: why, and how the refusal is sent. */
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { HELP_HEADER, helpFor } from '../../base/errors/help.ts';
import { VERSION } from '../../base/system/version.ts';

export interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly reason: string;
  /** In addition to those that every refusal has. */
  readonly headers?: Readonly<Record<string, string>>;
}

const NOT_HTTP: Refusal = {
  status: 400,
  error: 'bad_request',
  reason:
    'This is not a request in HTTP/1.1. If it was meant to be one, percent-encode spaces and letters outside ASCII in its address (ä is %C3%A4), and check its headers.',
};

const METHODS = 'COPY,DELETE,GET,HEAD,OPTIONS,POST,PUT,QUERY';

/** 405 for a method that no resource has. */
export const UNKNOWN_METHOD: Refusal = {
  status: 405,
  error: 'method_not_allowed',
  reason: `Only ${METHODS} allowed`,
  headers: { Allow: METHODS },
};

export const UNKNOWN_EXPECTATION: Refusal = {
  status: 417,
  error: 'expectation_failed',
  reason: 'The only supported expectation is "Expect: 100-continue". Send the request without that header.',
};

export const UNKNOWN_VERSION: Refusal = {
  status: 505,
  error: 'http_version_not_supported',
  reason: 'The server speaks HTTP/1.1 and HTTP/1.0.',
};

export const LATE_UPGRADE: Refusal = {
  status: 400,
  error: 'bad_request',
  reason: 'Only the first request of a connection may ask for another protocol.',
};

/** By the codes of Node's parser. */
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    error: 'too_long',
    reason:
      'The head of the request, its address and headers, is longer than 64 KB. Long lists, such as keys, can be sent as the body of a POST.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    error: 'timeout',
    reason: 'The request did not arrive in time. Send it again.',
  },
  HPE_PAUSED_H2_UPGRADE: UNKNOWN_VERSION,
};

/** Why a request is refused that Node's parser could not read and therefore passed to no listener. */
export function unreadableRefusal(error: Error): Refusal {
  const code = 'code' in error ? String(error.code) : '';
  if (code === 'HPE_INVALID_METHOD' && REQUEST_LINE.test(lineAt(error))) return UNKNOWN_METHOD;
  if (code === 'HPE_INVALID_VERSION' && OTHER_VERSION.test(lineAt(error))) return UNKNOWN_VERSION;
  return refusals[code] ?? NOT_HTTP;
}

const OTHER_VERSION = / HTTP\/(?!1\.[01])\d/;
const REQUEST_LINE = /^[!#$%&'*+.^_`|~\dA-Za-z-]+ \S+ HTTP\/1\.[01]\r?$/;

/** The line at which the parser gave up. */
function lineAt(error: Error): string {
  const { rawPacket, bytesParsed }: { readonly rawPacket?: unknown; readonly bytesParsed?: unknown } = Object(error);
  if (!(rawPacket instanceof Uint8Array) || typeof bytesParsed !== 'number') return '';
  const text = Buffer.from(rawPacket).toString('latin1');
  const begin = text.lastIndexOf('\n', bytesParsed - 1) + 1;
  const end = text.indexOf('\n', begin);
  return text.slice(begin, end < 0 ? text.length : end);
}

/**
 * Answers requests for which Node made no response, and closes the connection: after such a request it is unknown where the next one begins.
 */
export function refuseUnanswered(refusal: Refusal, socket: Duplex): void {
  if (!socket.writable) return;
  const { headers, body } = toAnswer(refusal);
  const all = { ...headers, Date: new Date().toUTCString(), Connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`, ...lines];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** `more`: headers in addition to those that every refusal has; also in the next function. */
export function refuse(refusal: Refusal, outgoing: ServerResponse, more: Readonly<Record<string, string>> = {}): void {
  const { headers, body } = toAnswer(refusal);
  outgoing.writeHead(refusal.status, { ...headers, ...more }).end(body);
}

/** Refuses a request and closes the connection: nothing after it is read. */
export function refuseAndClose(
  refusal: Refusal,
  outgoing: ServerResponse,
  more: Readonly<Record<string, string>> = {},
): void {
  const { headers, body } = toAnswer(refusal);
  const { socket } = outgoing;
  outgoing
    .writeHead(refusal.status, { ...headers, ...more, Connection: 'close' })
    .end(body, () => socket?.destroySoon());
}

function toAnswer({ error, reason, headers }: Refusal): {
  readonly headers: Record<string, string>;
  readonly body: string;
} {
  const body = `${JSON.stringify({ error, reason })}\n`;
  const common = {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    'Content-Length': `${Buffer.byteLength(body)}`,
    Server: `Settee/${VERSION}`,
    'X-Content-Type-Options': 'nosniff',
    [HELP_HEADER]: helpFor(error),
  };
  return { headers: { ...common, ...headers }, body };
}

/** 400 for a request if it is unclear where it ends, or which host it is for; 505 and 405 for other versions of HTTP, and for no resource. */
export function framingRefusal(incoming: IncomingMessage): Refusal | undefined {
  if (!VERSIONS.includes(incoming.httpVersion)) return UNKNOWN_VERSION;
  if (incoming.url === '*') return UNKNOWN_METHOD;
  const reason = framingFault(incoming) ?? hostFault(incoming);
  return reason === undefined ? undefined : { status: 400, error: 'bad_request', reason };
}

const VERSIONS = ['1.1', '1.0'];

/**
 * Why it is unclear where a request ends, or undefined. If two readers, such as a proxy and this server, disagree on that, they can be made to
 * take a part of one request for the next one. So requests that RFC 9112 (6.1) calls faulty are refused, as Node's parser refuses the rest, and
 * so is every encoding other than `chunked`, since none is decoded here.
 */
function framingFault(incoming: IncomingMessage): string | undefined {
  const encoding = incoming.headers['transfer-encoding'];
  if (encoding === undefined) return undefined;
  if (incoming.httpVersion === '1.0') {
    return 'HTTP/1.0 has no Transfer-Encoding. Send the body with a Content-Length, or the request as HTTP/1.1.';
  }
  if (encoding.trim().toLowerCase() === 'chunked') return undefined;
  return 'Transfer-Encoding must be "chunked" and nothing else. Name the compression of the body in Content-Encoding.';
}

/**
 * Node passes on the first of several hosts, and others take the last: a request that a proxy lets through for one of them would be answered for
 * another (RFC 9112, 3.2). Only HTTP/1.0 may have none.
 */
function hostFault({ rawHeaders, httpVersion }: IncomingMessage): string | undefined {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  if (hosts > 1) return 'A request must have only one Host header.';
  if (hosts === 1 || httpVersion === '1.0') return undefined;
  return 'A request in HTTP/1.1 must have a Host header. Add one, such as "Host: localhost".';
}
