/**
 * Converts requests and responses to their wire form and back, and recognizes messages. Text, bytes and Blobs are part of the message; a stream is part of it if it is
 * known to be small, and else uses what the transport offers: a port, or a name on channels.
 */

import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { ByteStream, PlainRequest, PlainResponse, RequestBody, ResponseBody } from '../../base/shared/message.ts';
import {
  type BodyStep,
  type FromOwner,
  type PageCalls,
  type PortOffer,
  PROTOCOL,
  type ToAll,
  type TokenMessage,
  type ToOwner,
  type WireRequest,
  type WireRequestBody,
  type WireResponse,
  type WireStream,
} from './wire.ts';

/** A stream of this many bytes costs less as part of the message than as steps. */
const INLINE_BYTES = 65_536;

/** How streams get from one side to the other, apart from the message. */
export interface StreamTransport {
  /** Takes over the stream and produces it as the other side reads; returns what that side opens. */
  offer(stream: ByteStream): MessagePort | string;
  /** Opens what the other side offered. */
  open(stream: MessagePort | string, length?: number): ByteStream;
}

/** For a body that `withoutSmallStream` returned, which is taken over. */
export function wireRequest(request: PlainRequest, body: RequestBody, transport: StreamTransport): WireRequest {
  const { method, url, headers } = request;
  return { method, url, headers, body: isStream(body) ? offer(body, transport) : body };
}

/** Cancels a body that is still on its way when the signal fires: an incomplete body must not be carried out as if it were whole. */
export function requestFromWire(wire: WireRequest, transport: StreamTransport, signal?: AbortSignal): PlainRequest {
  const { method, url, headers } = wire;
  const body = isWireStream(wire.body) ? transport.open(wire.body.stream, wire.body.length) : wire.body;
  if (isStream(body)) signal?.addEventListener('abort', () => body.cancel());
  return signal === undefined ? { method, url, headers, body } : { method, url, headers, body, signal };
}

/** Takes over the body. Rejects if a small stream fails or isn't as long as it says. */
export function responseToWire(response: PlainResponse, transport: StreamTransport): MaybePromise<WireResponse> {
  const { status, headers } = response;
  const wire = (body: ResponseBody): WireResponse => ({
    status,
    headers,
    body: isStream(body) ? offer(body, transport) : body,
  });
  return whenReady(withoutSmallStream(response.body), wire);
}

export function responseFromWire(wire: WireResponse, transport: StreamTransport): PlainResponse {
  const { status, headers, body } = wire;
  return { status, headers, body: isWireStream(body) ? transport.open(body.stream, body.length) : body };
}

export function isStream(body: unknown): body is ByteStream {
  return typeof body === 'object' && body !== null && 'pull' in body;
}

/** Blobs also have a member of that name. */
export function isWireStream(body: WireRequestBody): body is WireStream {
  return typeof body === 'object' && body !== null && 'stream' in body && typeof body.stream !== 'function';
}

/** The port that must be transferred with a message that has that body. */
export function portOf(body: WireRequestBody): MessagePort | undefined {
  return isWireStream(body) && typeof body.stream !== 'string' ? body.stream : undefined;
}

/** Returns the body, read whole if it is a stream that is known to be small. Rejects if that fails or isn't as long as it says. */
export function withoutSmallStream<T>(body: T | ByteStream): MaybePromise<T | ByteStream | Uint8Array> {
  if (!isStream(body)) return body;
  const { length } = body;
  return length !== undefined && length <= INLINE_BYTES ? collect(body, length) : body;
}

function offer(stream: ByteStream, transport: StreamTransport): WireStream {
  const { length } = stream;
  const offered = transport.offer(stream);
  return length === undefined ? { stream: offered } : { stream: offered, length };
}

async function collect(stream: ByteStream, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  let filled = 0;
  for (let chunk = await stream.pull(); chunk !== undefined; chunk = await stream.pull()) {
    if (filled + chunk.byteLength > length) {
      const failure = new Error(`The body is longer than the ${length} bytes that were announced`);
      await stream.cancel(failure);
      throw failure;
    }
    bytes.set(chunk, filled);
    filled += chunk.byteLength;
  }
  if (filled < length) throw new Error(`The body broke off: ${filled} bytes came where ${length} were announced`);
  return bytes;
}

// ——— what came over a port or a channel, as a typed message; undefined if it is not one of ours. These functions only check enough to
// distinguish messages: the content of a message follows from the protocol's number, which its receiver compares ———

export function asBodyStep(data: unknown): BodyStep | undefined {
  return isRecord(data) && typeof data['step'] === 'string' ? (data as BodyStep) : undefined;
}

export function asToOwner(data: unknown): ToOwner | undefined {
  return isMessage(data) ? (data as ToOwner) : undefined;
}

export function asFromOwner(data: unknown): FromOwner | undefined {
  return isMessage(data) ? (data as FromOwner) : undefined;
}

export function asToAll(data: unknown): ToAll | undefined {
  return isMessage(data) ? (data as ToAll) : undefined;
}

export function asTokenMessage(data: unknown): TokenMessage | undefined {
  const isKnown = isRecord(data) && data['protocol'] === PROTOCOL && typeof data['kind'] === 'string';
  return isKnown ? (data as unknown as TokenMessage) : undefined;
}

export function asPageCalls(data: unknown): PageCalls | undefined {
  return isRecord(data) && Array.isArray(data['calls']) ? (data as unknown as PageCalls) : undefined;
}

export function asPortOffer(data: unknown): PortOffer | undefined {
  return isRecord(data) && data['type'] === 'SETTEE_PORT' ? (data as unknown as PortOffer) : undefined;
}

function isMessage(data: unknown): data is object {
  return (
    isRecord(data) &&
    typeof data['protocol'] === 'number' &&
    typeof data['from'] === 'string' &&
    typeof data['kind'] === 'string'
  );
}

function isRecord(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null;
}
