import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { VERSION } from '../../system/version.ts';

interface Refusal {
  readonly status: number;
  readonly error: string;
  readonly reason: string;
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
  const { status, ...shown } = refusals[code] ?? NOT_HTTP;
  const body = `${JSON.stringify(shown)}\n`;
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'Content-Type: application/json',
    'Cache-Control: no-store',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `Server: Settee/${VERSION}`,
    `Date: ${new Date().toUTCString()}`,
    'Connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}
