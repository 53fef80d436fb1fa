/**
 * Reads request bodies (docs/http/requests.md#request-bodies): inflated, within `svc/max_document_size` bytes, as valid UTF-8. Nothing
 * is passed on before the whole body has arrived, so a request that stops half-way changes nothing.
 */
import { DatabaseError, type ErrorCode, isDatabaseError } from '../../base/errors/database-error.ts';
import { gaveWay } from '../../base/errors/too-busy.ts';
import { assertShallowText } from '../../base/json/nesting.ts';
import { isObject, type JsonObject } from '../../base/json/objects.ts';
import { parseInSteps, parseMembersInSteps } from '../../base/json/parse-in-steps.ts';
import { toWellFormed } from '../../base/json/portable-values.ts';
import { type Survey, surveyInSteps, TooLongString, TooManyMembers } from '../../base/json/survey.ts';
import { type MaybePromise, whenReady } from '../../base/shared/maybe-promise.ts';
import type { ByteStream, RequestBody } from '../../base/shared/message.ts';
import { type CooperativeTask, roomInTurn, runCooperatively, TimeSlice } from '../../base/shared/turn.ts';
import { putTogether } from '../../base/shared/utf8.ts';
import {
  ANY_MEMBERS,
  ANY_OBJECT,
  type BodyBound,
  ByteCollector,
  boundOf,
  type Collector,
  inflate,
  TextCollector,
  tooLarge,
  tooLongString,
  tooManyMembers,
} from './body-bounds.ts';
import { holdValues, type MadeOfValues } from './body-memory.ts';
import type { Context } from './context.ts';

const JSON_MEDIA_TYPE = 'application/json';
/** A UTF-16 unit takes at most three bytes of UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

/**
 * Memory per byte of a body while it is read and processed: the bytes, their text, what is built from that, and what
 * is written.
 */
const MEMORY_PER_BYTE = 4;
/** Smaller bodies are not counted. */
const COUNTED_BYTES = 65_536;
/** What inflating takes in addition: the platform's streams, and what waits in them. */
const INFLATION_BYTES = 1_048_576;
/** Values of shorter texts are not counted: they are created and freed in one turn. */
const COUNTED_LENGTH = 4_096;
/** About what an upload holds while it is stored on arrival: chunks, pages before they are written, and the compressor's memory. */
const UPLOAD_BYTES = 1_310_720;
/** How a body may fail, besides being broken off. */
const PASSED_ON: readonly ErrorCode[] = ['request_timeout', 'unauthorized', 'too_large'];
/** How many bytes of a Blob are read at once. */
const BLOB_SLICE = 1_048_576;
/** How many bytes are decoded in one step. Above about a megabyte, Node makes a text of two bytes a character, regardless of the characters. */
const DECODED_BYTES = 524_288;
/** Decoding of whole texts keeps no state, so one decoder serves all. */
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Returns the body as text. `fitting`: a bound lower than the setting's. Fails with `bad_content_type` (an unknown encoding), `too_large`, and
 * `bad_request` (broken off, not UTF-8, not gzip).
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

/** Returns the body's JSON value. Fails as `readText` and `parseBody` do. */
export function readJson(context: Context, fitting?: BodyBound, made?: MadeOfValues): MaybePromise<unknown> {
  return whenReady(readText(context, fitting), (text) => parseBody(context, text, fitting, made));
}

/** Like `readJson`, for bodies that must be an object. */
export function readObject(context: Context, fitting?: BodyBound, made?: MadeOfValues): MaybePromise<JsonObject> {
  return whenReady(readJson(context, fitting, made), toObject);
}

/** Fails with `bad_request`: "invalid_json", or if the text is nested too deeply, before anything is built from it. */
export function parseJson(text: string): unknown {
  assertShallowText(text);
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidJson(cause);
  }
}

/**
 * Like `parseJson`, but yields the thread during a long text, and holds memory for its values, and for what is built from them. Fails with
 * `too_large` if an object has more members than fit, and as `holdValues` does.
 */
export function parseBody(
  context: Context,
  text: string,
  fitting?: BodyBound,
  made?: MadeOfValues,
): MaybePromise<unknown> {
  return text.length < COUNTED_LENGTH ? parseJson(text) : parseLong(context, text, fitting, made);
}

/** Waits for room in the turn: a thousand requests that waited for the same thing may arrive in one turn. */
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

/** Like `readObject`, for objects with many members: in the order in which they first appear, each with its last value. */
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

/** Parses a text that is nested no deeper than permitted. */
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

/** Returns the text of one part of a body, within the same limit. Fails as `readText` does. */
export async function readPartText(context: Context, part: AsyncIterable<Uint8Array>): Promise<string> {
  const bound = boundOf(context.services.config, undefined);
  context.memory.expect();
  const collector = new TextCollector(bound, (bytes) => context.holdBody(bytes, MEMORY_PER_BYTE));
  for await (const chunk of part) await collector.add(chunk);
  context.memory.settle();
  return runCooperatively(collector.take());
}

/** Yields the body as it arrives, to be stored at once. Fails with `bad_request` if it breaks off. */
export async function* bodyChunks(context: Context): AsyncGenerator<Uint8Array> {
  const { body } = context.request;
  if (body === null) return;
  if (typeof body === 'string') yield new TextEncoder().encode(body);
  else if (body instanceof Uint8Array) yield body;
  else if (isStream(body)) yield* storedChunks(context, body);
  else for (let at = 0; at < body.size; at += BLOB_SLICE) yield new Uint8Array(await sliceOf(body, at));
}

/** After a few chunks, counts what is held before it is stored; waits for that while the memory is used up. */
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

/** Over a network, a slow sender gives way to others that wait for the memory that it holds: then this fails with `too_busy`. */
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

/** Reads a part of a Blob, which may be on disk: only that part is held. */
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

/** A text can only come from this process. Replaces what can't be written as UTF-8, as `fetch` does. */
function checkText(text: string, bound: BodyBound): string {
  const { bytes } = bound;
  if (text.length * MAX_BYTES_PER_UNIT > bytes && new TextEncoder().encode(text).length > bytes) throw tooLarge(bound);
  return toWellFormed(text);
}

function checkBytes(bytes: Uint8Array, bound: BodyBound): Uint8Array {
  if (bytes.length > bound.bytes) throw tooLarge(bound);
  return bytes;
}

/** Takes the chunks out of the list, so that each is freed after decoding: bytes and text are not held at the same time. */
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

/** Counts chunks as they arrive. */
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
  if (isDatabaseError(cause) && PASSED_ON.includes(cause.code)) throw cause;
  throw new DatabaseError('bad_request', 'The request body broke off before its end; nothing was changed.', { cause });
}
