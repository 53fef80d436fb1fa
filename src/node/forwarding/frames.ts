/**
 * How requests and responses travel between the processes of one server, over a local socket, and between servers, over TCP. A frame is the length of its payload, its kind and the
 * number of its exchange, then the payload; numbers are big-endian. Many exchanges share one connection, and each stream has a window
 * of its own, so that a slow one keeps no other waiting. Both ends are of the same build: `PROTOCOL` changes with the format.
 */
import type { PlainHeaders, RequestUser } from '../../base/shared/message.ts';
import type { Settings } from '../../base/system/contract.ts';
import type { Counts } from '../../base/system/counters.ts';

/** The first frame names it, so that processes of different builds refuse each other. */
export const PROTOCOL = 'settee-forward-2';

export const HELLO = 1;
/** From the owner: all settings, `SentSettings` as JSON. The first one that a reader gets says that the owner takes requests. */
export const SETTINGS = 2;
/** A head (`RequestHead`), then the body unless it is a stream. */
export const REQUEST = 3;
/** A head (`ResponseHead`), then the body unless it is a stream. */
export const RESPONSE = 4;
/** Bytes of a stream. */
export const CHUNK = 5;
/** The end of a stream: trailers as JSON, or nothing. */
export const END = 6;
/** A stream broke off: a `StreamFailure` as JSON. */
export const FAIL = 7;
/** From the reader: the client has gone. From the owner: it reads no more of the body; one byte, 1 if the body is refused. */
export const CANCEL = 8;
/** So many more bytes of the stream may come: a number of four bytes. */
export const CREDIT = 9;
/** From the reader: what it has counted and logged, a `ReaderReport` as JSON. */
export const REPORT = 10;
/** From a reader on a new connection: the rest of it is the link of another server, whose address follows the secret. */
export const PASSED = 11;
/** Between servers, in this order: a `Greeting` from the one that connected, a nonce from the other one, then the proofs of both (link-proof.ts). */
export const GREETING = 12;
export const NONCE = 13;
export const PROOF = 14;
/** From the server that connected: one byte, 1 if it wants the settings, now and after each change. */
export const FOLLOW = 15;
/** From the server that was connected: it closes soon. What it has received is answered; send no more. */
export const LEAVE = 16;
/** Between servers: a sign of life is wanted, and here it is. */
export const PING = 17;
export const PONG = 18;

/** Bytes of a stream that its receiver takes before it has read any of them. */
export const WINDOW_BYTES = 262_144;
/** Longer chunks of a stream are sent in parts, so that others get a turn. */
export const MAX_CHUNK_BYTES = 65_536;
/** A longer body is sent as a stream. */
export const MAX_WHOLE_BYTES = 1_048_576;
/** Room for a whole body, and a head that is escaped as JSON. */
export const MAX_FRAME_BYTES = 4_194_304;
/** For frames of an end that is not known yet. */
export const MAX_GREETING_BYTES = 4_096;

/** Length, kind and number. */
export const FRAME_HEADER_BYTES = 9;
const LENGTH_BYTES = 4;
/** Shorter bytes are copied behind their head; others are written as they are. */
const MAX_COPIED_BYTES = 8_192;

export interface SentSettings {
  readonly version: string;
  readonly settings: Settings;
  /** Whether the owner takes links of other servers, which readers pass on to it. */
  readonly takesLinks?: boolean | undefined;
}

/** What the owner counts and logs together with its own. */
export interface ReaderReport {
  /** Counted since the last report. */
  readonly counts?: Counts | undefined;
  /** Changes feeds that wait now. */
  readonly feeds: number;
  /** Entries of the log, each with whether a client sent it. */
  readonly entries: readonly (readonly [entry: string, isOfClient: boolean])[];
}

/** `stream`: the body follows in chunks. `null`: there is none. */
export type BodyKind = 'null' | 'bytes' | 'stream';

export interface RequestHead {
  readonly method: string;
  readonly url: string;
  readonly headers: PlainHeaders;
  readonly peer?: string | undefined;
  readonly scheme?: 'https' | undefined;
  readonly user?: RequestUser | undefined;
  readonly hops?: number | undefined;
  /** Whether the response should say whose request it was. */
  readonly isObserved?: boolean | undefined;
  readonly body: BodyKind;
  /** Of a stream, if it is known. */
  readonly length?: number | undefined;
}

export interface ResponseHead {
  readonly status: number;
  /** Whose request it was; for the log alone. */
  readonly user?: string | null | undefined;
  readonly headers: PlainHeaders;
  readonly errorCode?: string | undefined;
  readonly body: BodyKind;
  readonly length?: number | undefined;
}

export interface StreamFailure {
  /** Of a `DatabaseError`. */
  readonly code?: string | undefined;
  readonly reason: string;
  /** Whether what was not read yet is dropped. */
  readonly isAtOnce?: boolean | undefined;
}

/** The parts of a frame, in the order in which they are sent. */
export function frameOf(kind: number, id: number, payload: Uint8Array | string = ''): Buffer[] {
  if (typeof payload === 'string') {
    const length = Buffer.byteLength(payload);
    const frame = headerOf(kind, id, length, length);
    frame.write(payload, FRAME_HEADER_BYTES);
    return [frame];
  }
  if (payload.length > MAX_COPIED_BYTES) return [headerOf(kind, id, payload.length, 0), toBuffer(payload)];
  const frame = headerOf(kind, id, payload.length, payload.length);
  frame.set(payload, FRAME_HEADER_BYTES);
  return [frame];
}

/** A frame with a head and, behind it, bytes. */
export function headFrameOf(kind: number, id: number, head: RequestHead | ResponseHead, bytes?: Uint8Array): Buffer[] {
  const text = JSON.stringify(head);
  const headBytes = Buffer.byteLength(text);
  const bodyBytes = bytes?.length ?? 0;
  const isCopied = bodyBytes <= MAX_COPIED_BYTES;
  const payload = LENGTH_BYTES + headBytes + bodyBytes;
  const frame = headerOf(kind, id, payload, isCopied ? payload : payload - bodyBytes);
  frame.writeUInt32BE(headBytes, FRAME_HEADER_BYTES);
  const at = FRAME_HEADER_BYTES + LENGTH_BYTES;
  frame.write(text, at);
  if (bytes === undefined) return [frame];
  if (!isCopied) return [frame, toBuffer(bytes)];
  frame.set(bytes, at + headBytes);
  return [frame];
}

/** Splits the payload of a frame with a head. */
export function splitHead(payload: Buffer): { readonly head: string; readonly bytes: Buffer } {
  const end = LENGTH_BYTES + payload.readUInt32BE(0);
  return { head: payload.toString('utf8', LENGTH_BYTES, end), bytes: payload.subarray(end) };
}

export function numberOf(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(LENGTH_BYTES);
  bytes.writeUInt32BE(value, 0);
  return bytes;
}

/** `room`: how many bytes of the payload the buffer has room for. */
function headerOf(kind: number, id: number, length: number, room: number): Buffer {
  const frame = Buffer.allocUnsafe(FRAME_HEADER_BYTES + room);
  frame.writeUInt32BE(length, 0);
  frame.writeUInt8(kind, LENGTH_BYTES);
  frame.writeUInt32BE(id, LENGTH_BYTES + 1);
  return frame;
}

function toBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
}

export function parseRequestHead(text: string): RequestHead {
  const head: unknown = JSON.parse(text);
  if (isObject(head) && typeof head['method'] === 'string' && typeof head['url'] === 'string' && hasHeaders(head)) {
    const { method, url, headers, peer, scheme } = head;
    return {
      ...{ method, url, headers, body: bodyKindOf(head['body']), length: lengthOf(head['length']) },
      peer: typeof peer === 'string' ? peer : undefined,
      scheme: scheme === 'https' ? scheme : undefined,
      user: userOf(head['user']),
      hops: hopsOf(head['hops']),
      isObserved: head['isObserved'] === true,
    };
  }
  throw new Error('the frame is no request');
}

export function parseResponseHead(text: string): ResponseHead {
  const head: unknown = JSON.parse(text);
  if (isObject(head) && typeof head['status'] === 'number' && hasHeaders(head)) {
    const { status, headers, errorCode, user } = head;
    return {
      ...{ status, headers, body: bodyKindOf(head['body']), length: lengthOf(head['length']) },
      errorCode: typeof errorCode === 'string' ? errorCode : undefined,
      user: typeof user === 'string' ? user : null,
    };
  }
  throw new Error('the frame is no response');
}

export function parseFailure(text: string): StreamFailure {
  const failure: unknown = JSON.parse(text);
  if (!isObject(failure) || typeof failure['reason'] !== 'string') throw new Error('the frame is no failure');
  const { code, reason, isAtOnce } = failure;
  return { reason, code: typeof code === 'string' ? code : undefined, isAtOnce: isAtOnce === true };
}

/** Text by name, such as trailers; undefined if there is none. */
export function parseHeaders(text: string): PlainHeaders | undefined {
  const headers: unknown = text === '' ? undefined : JSON.parse(text);
  return isHeaders(headers) ? headers : undefined;
}

interface ParsedHead {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly headers: PlainHeaders;
  readonly [name: string]: unknown;
}

function isObject(value: unknown): value is Readonly<Partial<ParsedHead>> & Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function hasHeaders<T extends object>(head: T): head is T & { readonly headers: PlainHeaders } {
  return 'headers' in head && isHeaders(head.headers);
}

function isHeaders(value: unknown): value is PlainHeaders {
  if (typeof value !== 'object' || value === null) return false;
  for (const name in value) if (typeof Reflect.get(value, name) !== 'string') return false;
  return true;
}

/** Fails for anything else than a user or none: it must not become a request with other rights. */
function userOf(value: unknown): RequestUser | undefined {
  if (value === undefined) return undefined;
  const { name, roles }: { readonly name?: unknown; readonly roles?: unknown } = Object(value);
  const isNamed = name === null || typeof name === 'string';
  if (!isNamed || !Array.isArray(roles)) throw new Error('the frame has no valid user');
  return {
    name,
    roles: roles.map((role) => {
      if (typeof role === 'string') return role;
      throw new Error('the frame has no valid user');
    }),
  };
}

function hopsOf(value: unknown): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error('the frame has no valid number of hops');
}

function bodyKindOf(value: unknown): BodyKind {
  return value === 'bytes' || value === 'stream' ? value : 'null';
}

function lengthOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}
