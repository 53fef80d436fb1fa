import { type ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { VERSION } from '../../system/version.ts';

export interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly reason: string;
  /** Beside those that every refusal has. */
  readonly headers?: Readonly<Record<string, string>>;
}

const NOT_HTTP: Refusal = {
  status: 400,
  error: 'bad_request',
  reason:
    'This is not a request in HTTP/1.1. If it was meant as one, percent-encode letters beyond ASCII and spaces in its address (ä is %C3%A4), and look at its headers.',
};

/** By the codes of Node's parser. */
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: 431,
    error: 'too_long',
    reason:
      'The head of the request, its address and headers, has more than 64 KB. Long lists, such as keys, can be sent as the body of a POST.',
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: 408,
    error: 'timeout',
    reason: 'The request did not come in time. Send it again.',
  },
};

/**
 * Answers a request that Node's parser could not read and therefore gave to no listener. Closes the connection, because
 * after such a request it is unknown where the next one begins.
 */
export function refuseUnreadable(error: Error, socket: Duplex): void {
  const code = 'code' in error ? String(error.code) : '';
  const refusal = refusals[code] ?? NOT_HTTP;
  const { headers, body } = toAnswer(refusal);
  const all = { ...headers, Date: new Date().toUTCString(), Connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const head = [`HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`, ...lines];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

/** `more`: headers beside those that every refusal has, as in the next. */
export function refuse(refusal: Refusal, outgoing: ServerResponse, more: Readonly<Record<string, string>> = {}): void {
  const { headers, body } = toAnswer(refusal);
  outgoing.writeHead(refusal.status, { ...headers, ...more }).end(body);
}

/** Refuses a request and closes the connection: nothing behind it is read. */
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
  };
  return { headers: { ...common, ...headers }, body };
}
