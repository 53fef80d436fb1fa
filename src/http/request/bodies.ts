/**
 * Reads request bodies (docs/http.md#request-bodies): inflated, within `svc/max_document_size` bytes, as valid UTF-8. Nothing
 * is handed on before the whole body has arrived, so a request that stops half-way changes nothing.
 */
import { DatabaseError } from '../../errors/database-error.ts';
import { isObject, type JsonObject } from '../../json/objects.ts';
import { type MaybePromise, whenReady } from '../../shared/maybe-promise.ts';
import type { ByteStream, RequestBody } from '../../shared/message.ts';
import { integerSetting } from '../../system/config.ts';
import { ByteCollector, tooLarge } from './byte-collector.ts';
import type { Context } from './context.ts';
import { inflate } from './inflate.ts';

const JSON_MEDIA_TYPE = 'application/json';
/** A UTF-16 unit takes three bytes of UTF-8 at most. */
const MAX_BYTES_PER_UNIT = 3;

/** Decoding as a whole keeps no state, so one decoder serves all. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The body as text. Fails with `bad_content_type` (an encoding we don't know), `too_large`, and `bad_request` (broken
 * off, no UTF-8, no gzip).
 */
export function readText(context: Context): MaybePromise<string> {
  const { body } = context.request;
  const limit = integerSetting(context.services.config, 'svc', 'max_document_size') ?? Number.POSITIVE_INFINITY;
  const gzip = isGzip(context.header('content-encoding'));
  if (Number(context.header('content-length') ?? 0) > limit) throw tooLarge();
  if (typeof body === 'string' && !gzip) return checkText(body, limit);
  const bytes = body instanceof Uint8Array ? checkBytes(body, limit) : collect(body, limit);
  return whenReady(gzip ? inflated(bytes, limit) : bytes, decode);
}

async function inflated(packed: MaybePromise<Uint8Array>, limit: number): Promise<Uint8Array> {
  return inflate(new Uint8Array(await packed), limit);
}

/** The body's JSON value. Fails as `readText`, and with `bad_request` "invalid_json". */
export function readJson(context: Context): MaybePromise<unknown> {
  return whenReady(readText(context), parseJson);
}

/** As `readJson`, for bodies that must be an object. */
export function readObject(context: Context): MaybePromise<JsonObject> {
  return whenReady(readJson(context), toObject);
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new DatabaseError('bad_request', 'invalid_json', { cause });
  }
}

/** Fails with `bad_request`. */
export function toObject(value: unknown): JsonObject {
  if (isObject(value)) return value;
  throw new DatabaseError('bad_request', 'Request body must be a JSON object');
}

/** The content type check (docs/http.md#content-type-check): fails with `bad_content_type`. */
export function requireJsonType(context: Context): void {
  const [mediaType = '', ...parameters] = (context.header('content-type') ?? '').split(';');
  if (mediaType.trim().toLowerCase() === JSON_MEDIA_TYPE && parameters.length <= 1) return;
  throw new DatabaseError('bad_content_type', `Content-Type must be ${JSON_MEDIA_TYPE}`);
}

export function isMultipart(context: Context, subtype: string): boolean {
  return (context.header('content-type') ?? '').trimStart().toLowerCase().startsWith(`multipart/${subtype}`);
}

export function isStream(body: RequestBody): body is ByteStream {
  return typeof body === 'object' && body !== null && 'pull' in body;
}

function isGzip(encoding: string | undefined): boolean {
  const coding = (encoding ?? '').toLowerCase();
  if (coding === '' || coding === 'identity') return false;
  if (coding === 'gzip') return true;
  throw new DatabaseError('bad_content_type', `${encoding} is not a supported content encoding.`);
}

/** Text can only come from this process. What can't be written as UTF-8 is replaced, as `fetch` does with it. */
function checkText(text: string, limit: number): string {
  if (text.length * MAX_BYTES_PER_UNIT > limit && new TextEncoder().encode(text).length > limit) throw tooLarge();
  return /\p{Surrogate}/u.test(text) ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
}

function checkBytes(bytes: Uint8Array, limit: number): Uint8Array {
  if (bytes.length > limit) throw tooLarge();
  return bytes;
}

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch (cause) {
    throw new DatabaseError('bad_request', 'invalid_json', { cause });
  }
}

async function collect(body: RequestBody, limit: number): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  if (typeof body === 'string') return new TextEncoder().encode(body);
  if (isStream(body)) return collectStream(body, limit);
  if (body instanceof Uint8Array) return body;
  if (body.size > limit) throw tooLarge();
  return new Uint8Array(await body.arrayBuffer().catch(brokenOff));
}

async function collectStream(stream: ByteStream, limit: number): Promise<Uint8Array> {
  if (stream.length !== undefined && stream.length > limit) throw tooLarge();
  const collector = new ByteCollector(limit);
  for (let chunk = await nextChunk(stream); chunk !== undefined; chunk = await nextChunk(stream)) collector.add(chunk);
  if (stream.length !== undefined && collector.length < stream.length) return brokenOff();
  return collector.whole();
}

function nextChunk(stream: ByteStream): Promise<Uint8Array | undefined> {
  return stream.pull().catch(brokenOff);
}

function brokenOff(cause?: unknown): never {
  throw new DatabaseError('bad_request', 'The request body broke off before its end; nothing was changed.', { cause });
}
