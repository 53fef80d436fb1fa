/**
 * Reads request bodies (docs/http/requests.md#request-bodies): inflated, within `svc/max_document_size` bytes, as valid UTF-8. Nothing
 * is handed on before the whole body has arrived, so a request that stops half-way changes nothing.
 */
import { DatabaseError, isDatabaseError } from '../../base/errors/database-error.ts';
import { gaveWay } from '../../base/errors/too-busy.ts';
import { assertShallowText } from '../../base/json/nesting.ts';
import { isObject, type JsonObject } from '../../base/json/objects.ts';
import { parseInSteps, parseMembersInSteps } from '../../base/json/parse-in-steps.ts';
import { type Survey, surveyInSteps, TooLongString, TooManyMembers } from '../../base/json/survey.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { ByteStream, RequestBody } from '../../base/shared/message.ts';
import { type CooperativeTask, roomInTurn, runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import { putTogether } from '../../base/shared/utf8.ts';
import {
  ANY_MEMBERS,
  ANY_OBJECT,
  type BodyBound,
  boundOf,
  tooLarge,
  tooLongString,
  tooManyMembers,
} from './body-bounds.ts';
import { ByteCollector, type Collector } from './byte-collector.ts';
import type { Context } from './context.ts';
import { inflate } from './inflate.ts';
import { holdValues, type MadeOfValues } from './parsed-memory.ts';
import { TextCollector } from './text-collector.ts';

const JSON_MEDIA_TYPE = 'application/json';
/** A UTF-16 unit takes three bytes of UTF-8 at most. */
const MAX_BYTES_PER_UNIT = 3;

/**
 * Memory that a body takes for each of its bytes while it is read and worked off: the bytes, their text, what is made of that, and what
 * is written.
 */
const MEMORY_PER_BYTE = 4;
/** Smaller bodies are not counted. */
const COUNTED_BYTES = 65_536;
/** What inflating takes besides: the platform's streams, and what waits in them. */
const INFLATION_BYTES = 1_048_576;
/** Values of shorter texts are not counted: they come and go in one turn. */
const COUNTED_LENGTH = 4_096;
/** What an upload holds that is stored while it comes, about: chunks, pages before they are written, and what compresses them. */
const UPLOAD_BYTES = 1_310_720;
/** Bytes of a Blob that are read at once. */
const BLOB_SLICE = 1_048_576;
/** Bytes that are decoded in one step. Of more than about a megabyte Node makes a text of two bytes a character, whatever the characters. */
const DECODED_BYTES = 524_288;
/** Decoding as a whole keeps no state, so one decoder serves all. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * The body as text. `fitting`: a lower bound than that of the setting. Fails with `bad_content_type` (an encoding we don't know), `too_large`, and `bad_request` (broken
 * off, no UTF-8, no gzip).
 */
export function readText(context: Context, fitting?: BodyBound): MaybePromise<string> {
  const { body } = context.request;
  const bound = boundOf(context.services.config, fitting);
  const gzip = isGzip(context.header('content-encoding'));
  if (Number(context.header('content-length') ?? 0) > bound.bytes) throw tooLarge(bound);
  if (typeof body === 'string' && !gzip) return checkText(body, bound);
  if (body instanceof Uint8Array && !gzip && body.length <= COUNTED_BYTES) {
    return runCooperatively(decodeInSteps([checkBytes(body, bound)]));
  }
  return readLong(context, bound, gzip);
}

async function readLong(context: Context, bound: BodyBound, gzip: boolean): Promise<string> {
  const { body } = context.request;
  const length = declaredLength(body) ?? 0;
  if (length > bound.bytes) throw tooLarge(bound);
  const factor = gzip ? 1 : MEMORY_PER_BYTE;
  const grow = (bytes: number) => context.holdBody(bytes, factor);
  if (isStream(body) && !gzip) {
    const collector = new TextCollector(bound, grow);
    await collectStream(context, body, factor, collector);
    return runCooperatively(collector.take());
  }
  const chunks = isStream(body) ? await collectPacked(context, body, bound, grow) : [await wholeBody(body)];
  const missing = length * factor - context.memory.bytes;
  if (!isStream(body) && length * factor > COUNTED_BYTES && missing > 0) await context.holdBytes(missing);
  return runCooperatively(gzip ? (await inflateText(context, bound, chunks)).take() : decodeInSteps(chunks));
}

async function collectPacked(
  context: Context,
  body: ByteStream,
  bound: BodyBound,
  grow: (bytes: number) => MaybePromise<void>,
): Promise<Uint8Array[]> {
  const collector = new ByteCollector(bound, grow);
  await collectStream(context, body, 1, collector);
  return collector.take();
}

async function inflateText(context: Context, bound: BodyBound, packed: readonly Uint8Array[]): Promise<TextCollector> {
  await context.holdBytes(INFLATION_BYTES);
  context.memory.expect();
  const collector = new TextCollector(bound, (bytes) => context.holdBody(bytes, MEMORY_PER_BYTE));
  await inflate(packed, collector);
  return collector;
}

function declaredLength(body: RequestBody): number | undefined {
  if (body === null || typeof body === 'string') return undefined;
  return body instanceof Blob ? body.size : body.length;
}

/** The body's JSON value. Fails as `readText` and `parseBody`. */
export function readJson(context: Context, fitting?: BodyBound, made?: MadeOfValues): MaybePromise<unknown> {
  return whenReady(readText(context, fitting), (text) => parseBody(context, text, fitting, made));
}

/** As `readJson`, for bodies that must be an object. */
export function readObject(context: Context, fitting?: BodyBound, made?: MadeOfValues): MaybePromise<JsonObject> {
  return whenReady(readJson(context, fitting, made), toObject);
}

/** Fails with `bad_request`: "invalid_json", or where it is nested too deeply, before anything is built from it. */
export function parseJson(text: string): unknown {
  assertShallowText(text);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidJson(cause);
  }
}

/**
 * As `parseJson`; others have a turn in the middle of a long text, and memory is held for its values, and for what is made of them. Fails with
 * `too_large` where an object has more members than fit, and as `holdValues`.
 */
export function parseBody(
  context: Context,
  text: string,
  fitting?: BodyBound,
  made?: MadeOfValues,
): MaybePromise<unknown> {
  return text.length < COUNTED_LENGTH ? parseJson(text) : parseLong(context, text, fitting, made);
}

/** A thousand requests may come here in one turn, where all of them have waited for the same. */
function parseLong(
  context: Context,
  text: string,
  fitting: BodyBound | undefined,
  made: MadeOfValues | undefined,
): MaybePromise<unknown> {
  return whenReady(roomInTurn(), () =>
    whenReady(runCooperatively(surveyed(text, fitting)), (counted) =>
      whenReady(holdValues(context, counted, made), () => runCooperatively(parsedInSteps(text, parseInSteps))),
    ),
  );
}

/** As `readObject`, for objects with many members: in the order of their first mention, each with its last value. */
export async function readMembers(
  context: Context,
  made?: MadeOfValues,
): Promise<readonly (readonly [string, unknown])[]> {
  const text = await readText(context);
  const room = text.length < COUNTED_LENGTH ? undefined : roomInTurn();
  if (room !== undefined) await room;
  const counted = await runCooperatively(surveyed(text, ANY_MEMBERS));
  await holdValues(context, counted, made);
  return (await runCooperatively(parsedInSteps(text, parseMembersInSteps))) ?? notAnObject();
}

function* surveyed(text: string, fitting: BodyBound | undefined): CooperativeTask<Survey> {
  const bound = fitting?.members === undefined ? ANY_OBJECT : fitting;
  try {
    return yield* surveyInSteps(text, bound);
  } catch (cause) {
    if (cause instanceof TooManyMembers) throw tooManyMembers(bound);
    throw cause instanceof TooLongString ? tooLongString(bound) : cause;
  }
}

/** A text that is nested no deeper than is permitted. */
function* parsedInSteps<T>(text: string, parse: (text: string) => CooperativeTask<T>): CooperativeTask<T> {
  try {
    return yield* parse(text);
  } catch (cause) {
    throw isDatabaseError(cause) ? cause : invalidJson(cause);
  }
}

function invalidJson(cause: unknown): DatabaseError {
  return new DatabaseError('bad_request', 'invalid_json', { cause });
}

/** Fails with `bad_request`. */
export function toObject(value: unknown): JsonObject {
  return isObject(value) ? value : notAnObject();
}

function notAnObject(): never {
  throw new DatabaseError('bad_request', 'Request body must be a JSON object');
}

/** The content type check (docs/http/requests.md#content-type-check): fails with `bad_content_type`. */
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

/** The text of one part of a body, within the same limit. Fails as `readText`. */
export async function readPartText(context: Context, part: AsyncIterable<Uint8Array>): Promise<string> {
  const bound = boundOf(context.services.config, undefined);
  context.memory.expect();
  const collector = new TextCollector(bound, (bytes) => context.holdBody(bytes, MEMORY_PER_BYTE));
  for await (const chunk of part) await collector.add(chunk);
  context.memory.settle();
  return runCooperatively(collector.take());
}

/** The body as it comes, for what is stored while it arrives. Fails with `bad_request` where it breaks off. */
export async function* bodyChunks(context: Context): AsyncGenerator<Uint8Array> {
  const { body } = context.request;
  if (body === null) return;
  if (typeof body === 'string') yield new TextEncoder().encode(body);
  else if (body instanceof Uint8Array) yield body;
  else if (isStream(body)) yield* storedChunks(context, body);
  else for (let at = 0; at < body.size; at += BLOB_SLICE) yield new Uint8Array(await sliceOf(body, at));
}

/** Beyond a few chunks it counts what is held of it before it is stored; it waits for that where the memory is used up. */
async function* storedChunks(context: Context, stream: ByteStream): AsyncGenerator<Uint8Array> {
  let isCounted = false;
  let length = 0;
  for await (const chunk of streamChunks(context, stream)) {
    length += chunk.length;
    if (!isCounted && length > COUNTED_BYTES) {
      isCounted = true;
      await context.holdAnswer(UPLOAD_BYTES, chunk.length);
    }
    yield chunk;
  }
}

/** Over a network who sends slowly, while others wait for what it holds, gives way to them: that fails with `too_busy`. */
async function* streamChunks({ memory, request }: Context, stream: ByteStream): AsyncGenerator<Uint8Array> {
  if (request.peer !== undefined) memory.giveWay = () => void stream.cancel(gaveWay()).catch(() => {});
  let length = 0;
  try {
    for (;;) {
      memory.theirTurn();
      const chunk = await nextChunk(stream);
      memory.ownTurn(chunk?.length ?? 0);
      if (chunk === undefined) break;
      length += chunk.length;
      yield chunk;
    }
  } catch (failure) {
    throw memory.hasGivenWay ? gaveWay() : failure;
  } finally {
    memory.ownTurn();
    memory.giveWay = undefined;
  }
  if (stream.length !== undefined && length < stream.length) brokenOff();
}

/** A Blob may lie on the disk: only a part of it is held at a time. */
function sliceOf(blob: Blob, at: number): Promise<ArrayBuffer> {
  return blob
    .slice(at, at + BLOB_SLICE)
    .arrayBuffer()
    .catch(brokenOff);
}

function isGzip(encoding: string | undefined): boolean {
  const coding = (encoding ?? '').toLowerCase();
  if (coding === '' || coding === 'identity') return false;
  if (coding === 'gzip') return true;
  throw new DatabaseError('bad_content_type', `${encoding} is not a supported content encoding.`);
}

/** Text can only come from this process. What can't be written as UTF-8 is replaced, as `fetch` does with it. */
function checkText(text: string, bound: BodyBound): string {
  const { bytes } = bound;
  if (text.length * MAX_BYTES_PER_UNIT > bytes && new TextEncoder().encode(text).length > bytes) throw tooLarge(bound);
  return /\p{Surrogate}/u.test(text) ? text.replace(/\p{Surrogate}/gu, '\ufffd') : text;
}

function checkBytes(bytes: Uint8Array, bound: BodyBound): Uint8Array {
  if (bytes.length > bound.bytes) throw tooLarge(bound);
  return bytes;
}

/** Takes the chunks out of the list, so that each can go when it is decoded: bytes and text are not held twice. */
function* decodeInSteps(chunks: Uint8Array[]): CooperativeTask<string> {
  const [first] = chunks;
  try {
    if (chunks.length === 1 && first !== undefined && first.length <= DECODED_BYTES) return UTF8.decode(first);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    let text = '';
    for (let chunk = chunks.shift(); chunk !== undefined; chunk = chunks.shift()) {
      for (let from = 0; from < chunk.length; from += DECODED_BYTES) {
        text += decoder.decode(chunk.subarray(from, from + DECODED_BYTES), { stream: true });
        yield;
      }
    }
    text += decoder.decode();
    yield* putTogether(text);
    return text;
  } catch (cause) {
    throw invalidJson(cause);
  }
}

async function wholeBody(body: Exclude<RequestBody, ByteStream>): Promise<Uint8Array> {
  if (body === null) return new Uint8Array();
  if (typeof body === 'string') return new TextEncoder().encode(body);
  return body instanceof Uint8Array ? body : new Uint8Array(await body.arrayBuffer().catch(brokenOff));
}

/** What has come is counted as it comes. */
async function collectStream(
  context: Context,
  stream: ByteStream,
  factor: number,
  collector: Collector,
): Promise<void> {
  const timeSlice = new TimeSlice();
  context.memory.expect(stream.length === undefined ? undefined : stream.length * factor);
  for await (const chunk of streamChunks(context, stream)) {
    await collector.add(chunk);
    if (timeSlice.isDue) await timeSlice.rest();
  }
}

function nextChunk(stream: ByteStream): Promise<Uint8Array | undefined> {
  return stream.pull().catch(brokenOff);
}

function brokenOff(cause?: unknown): never {
  if (isDatabaseError(cause, 'request_timeout') || isDatabaseError(cause, 'unauthorized')) throw cause;
  throw new DatabaseError('bad_request', 'The request body broke off before its end; nothing was changed.', { cause });
}
