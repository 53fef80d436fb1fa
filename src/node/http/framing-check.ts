import type { IncomingMessage } from 'node:http';
import { type Refusal, UNKNOWN_METHOD, UNKNOWN_VERSION } from './refusals.ts';

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
  return 'Transfer-Encoding has to be "chunked" alone. Say how the body itself is compressed as Content-Encoding.';
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
  if (hosts > 1) return 'A request has one Host header alone.';
  if (hosts === 1 || httpVersion === '1.0') return undefined;
  return 'A request in HTTP/1.1 has a Host header. Add it, such as "Host: localhost".';
}
