/**
 * The headers of W3C Trace Context: which trace a request belongs to. A client can send any, so they are checked by the grammar, and only the log, spans,
 * and requests that are sent on name them.
 */
import { randomBytes } from 'node:crypto';
import type { PlainHeaders } from '../../base/shared/message.ts';

/** The place of one request in a trace. Ids are in hex, in small letters. */
export interface Trace {
  /** 32 digits, not all 0. */
  readonly traceId: string;
  /** 16 digits, not all 0: this server's part. What it sends on names it as its parent. */
  readonly spanId: string;
  /** 16 digits: the part that sent the request; undefined if the trace begins here. */
  readonly parentId?: string | undefined;
  /** Bit 0: it is recorded. Bit 1: the right half of the trace id is random. */
  readonly flags: number;
  /** The header `tracestate`, at most 512 characters. */
  readonly state?: string | undefined;
}

const TRACEPARENT = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const INVALID_VERSION = 'ff';
const OWN_FORMAT_VERSION = '00';
const KNOWN_FLAGS = 0b11;
const ZEROS = /^0+$/;
const SPAN_ID_BYTES = 8;

/** Characters of `tracestate` that are passed on. Members beyond them are left out. */
const MAX_STATE_LENGTH = 512;
const MAX_STATE_MEMBERS = 32;
const STATE_MEMBER =
  /^(?:[a-z0-9][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$/;

/** Returns the trace that the headers of a request name, with a new part of it for this server; undefined without a valid `traceparent`. */
export function parseTrace(headers: Readonly<Record<string, string | string[] | undefined>>): Trace | undefined {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== 'string') return undefined;
  const [, version, traceId = '', parentId = '', flags = '', more] = TRACEPARENT.exec(traceparent) ?? [];
  if (version === undefined || version === INVALID_VERSION || (version === OWN_FORMAT_VERSION && more !== undefined))
    return undefined;
  if (ZEROS.test(traceId) || ZEROS.test(parentId)) return undefined;
  const state = typeof tracestate === 'string' ? parseState(tracestate) : undefined;
  return { traceId, parentId, spanId: newSpanId(), flags: Number.parseInt(flags, 16) & KNOWN_FLAGS, state };
}

/** Undefined if it does not fit the grammar, or is empty. */
function parseState(text: string): string | undefined {
  const members = text.split(',').flatMap((member) => member.replace(/^[ \t]+|[ \t]+$/g, '') || []);
  const keys = new Set(members.map((member) => member.slice(0, member.indexOf('='))));
  if (members.length > MAX_STATE_MEMBERS || keys.size < members.length) return undefined;
  if (!members.every((member) => STATE_MEMBER.test(member))) return undefined;
  let kept = '';
  for (const member of members) {
    const longer = kept === '' ? member : `${kept},${member}`;
    if (longer.length > MAX_STATE_LENGTH) break;
    kept = longer;
  }
  return kept === '' ? undefined : kept;
}

export function newSpanId(): string {
  const id = randomBytes(SPAN_ID_BYTES).toString('hex');
  return ZEROS.test(id) ? newSpanId() : id;
}

/** As `traceparent` of what is sent on, and as `traceresponse`. */
export function formatTrace({ traceId, spanId, flags }: Trace): string {
  return `${OWN_FORMAT_VERSION}-${traceId}-${spanId}-${(flags & KNOWN_FLAGS).toString(16).padStart(2, '0')}`;
}

/** The headers of what is sent on. */
export function traceHeaders(trace: Trace): PlainHeaders {
  return { traceparent: formatTrace(trace), ...(trace.state !== undefined && { tracestate: trace.state }) };
}
