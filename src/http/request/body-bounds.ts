/**
 * Maximum bytes of bodies: what fits their purpose (docs/limits.md#bodies-of-requests), and `svc/max_document_size` for all. The
 * collectors keep what arrives, as bytes or as text, up to such a limit, which protects the memory.
 */

import { DatabaseError } from '../../base/errors/database-error.ts';
import type { MaybePromise } from '../../base/shared/maybe-promise.ts';
import { type CooperativeTask, TimeSlice } from '../../base/shared/turn.ts';
import { putTogether } from '../../base/shared/utf8.ts';
import { integerSetting } from '../../base/system/config.ts';
import type { ConfigStore } from '../../base/system/contract.ts';

export interface BodyBound {
  readonly bytes: number;
  /** Members of one object in it; undefined for any number. */
  readonly members?: number;
  /** Characters of one string in it, as it is written; undefined for any number. */
  readonly stringLength?: number;
  /** What to do if that is too little, as a sentence. Undefined for the bound of the setting. */
  readonly remedy?: string;
}

/** Name and password, which are digested in one go. */
export const CREDENTIALS: BodyBound = {
  bytes: 65_536,
  remedy: 'Send name and password alone; longer passwords can not be used.',
};
/** One value, or a few. */
export const FEW_VALUES: BodyBound = { bytes: 65_536, remedy: 'Send a shorter value.' };
/** Ids of a thousand `_local` documents, and a period. */
export const AUTO_PURGE: BodyBound = { bytes: 262_144, remedy: 'Ignore fewer peers.' };
/** A log entry has at most 65,536 characters, and JSON may escape each of them in six. */
export const LOG_ENTRY: BodyBound = { bytes: 524_288, remedy: 'Send a shorter message.' };
/** Names of databases. */
export const NAMES: BodyBound = { bytes: 1_048_576, remedy: 'Name fewer databases at a time.' };
export const NUMBER: BodyBound = { bytes: 1_024, remedy: 'Send the number alone.' };
/** A security object of the longest size, with what JSON may have between its values. */
export const SECURITY: BodyBound = {
  bytes: 2_097_152,
  members: 10_000,
  remedy: 'Keep what is not about access in a document.',
};
/** A selector, an index, or the definition of a replication: all of it becomes values. */
export const QUERY: BodyBound = {
  bytes: 4_194_304,
  members: 10_000,
  remedy: 'Ask for less at a time, or keep a long list in documents and match by a field.',
};

/** An object that has no bound of its own, except its size. */
export const ANY_OBJECT: BodyBound = {
  bytes: Number.POSITIVE_INFINITY,
  members: 65_536,
  stringLength: 4_194_304,
  remedy: 'Send fewer at a time, or a list of them.',
};
/** An object with any number of members, which are read one by one. */
export const ANY_MEMBERS: BodyBound = { ...ANY_OBJECT, members: Number.POSITIVE_INFINITY };
/** Documents may have any number of members. */
export const DOCUMENTS: BodyBound = { bytes: Number.POSITIVE_INFINITY, members: Number.POSITIVE_INFINITY };

/** A bound up to this size applies regardless of the setting: an admin must be able to log in and to change the setting back. */
const ALWAYS_BYTES = 65_536;

/** Returns the lower of the two, or the fitting one if that is small. */
export function boundOf(config: ConfigStore, fitting: BodyBound | undefined): BodyBound {
  if (fitting !== undefined && fitting.bytes <= ALWAYS_BYTES) return fitting;
  const bytes = integerSetting(config, 'svc', 'max_document_size') ?? Number.POSITIVE_INFINITY;
  return fitting !== undefined && fitting.bytes < bytes ? fitting : { bytes };
}

/** Begins with the family's words. */
export function tooManyMembers({ members, remedy = '' }: BodyBound): DatabaseError {
  const what = `an object in a body of this kind may have ${members} members`;
  return new DatabaseError('too_large', `the request entity is too large: ${what}; nothing was changed. ${remedy}`);
}

/** Begins with the family's words. */
export function tooLongString({ stringLength }: BodyBound): DatabaseError {
  const what = `a string in a body of this kind may have ${stringLength} characters`;
  return new DatabaseError('too_large', `the request entity is too large: ${what}; nothing was changed.`);
}

/** Begins with the family's words. */
export function tooLarge({ bytes, remedy }: BodyBound): DatabaseError {
  const what =
    remedy === undefined
      ? `its JSON may have ${bytes} bytes (svc/max_document_size)`
      : `a body of this kind may have ${bytes} bytes`;
  const advice = remedy ?? 'Keep large data in attachments, or send fewer documents at a time.';
  return new DatabaseError('too_large', `the request entity is too large: ${what}; nothing was changed. ${advice}`);
}

/** Collects what arrives. */
export interface Collector {
  /** Fails with `too_large` if the limit is exceeded. */
  add(chunk: Uint8Array): Promise<void>;
}

export class ByteCollector implements Collector {
  readonly #bound: BodyBound;
  readonly #grow: ((bytes: number) => MaybePromise<void>) | undefined;
  #chunks: Uint8Array[] = [];
  #length = 0;

  /** `grow` counts bytes, and resolves when more may be added. */
  constructor(bound: BodyBound, grow?: (bytes: number) => MaybePromise<void>) {
    this.#bound = bound;
    this.#grow = grow;
  }

  /** Keeps the chunk, which must not change afterwards. Fails with `too_large`, and as `grow` does. */
  async add(chunk: Uint8Array): Promise<void> {
    this.#length += chunk.length;
    if (this.#length > this.#bound.bytes) throw tooLarge(this.#bound);
    this.#chunks.push(chunk);
    await this.#grow?.(chunk.length);
  }

  /** Returns what was added, in order. The caller owns the list, and may remove the chunks that it has processed. */
  take(): Uint8Array[] {
    const chunks = this.#chunks;
    this.#chunks = [];
    return chunks;
  }
}

/** Builds the text from UTF-8 chunks as they arrive, so that their bytes need not be kept as well. */
export class TextCollector implements Collector {
  readonly #bound: BodyBound;
  readonly #grow: (bytes: number) => MaybePromise<void>;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true });
  #text = '';
  #length = 0;

  /** `grow` counts bytes, and resolves when more may be added. */
  constructor(bound: BodyBound, grow: (bytes: number) => MaybePromise<void>) {
    this.#bound = bound;
    this.#grow = grow;
  }

  /** Fails with `too_large`, as `grow` does, and with `bad_request` if the bytes are not UTF-8. */
  async add(chunk: Uint8Array): Promise<void> {
    this.#length += chunk.length;
    if (this.#length > this.#bound.bytes) throw tooLarge(this.#bound);
    this.#text += this.#decode(chunk);
    await this.#grow(chunk.length);
  }

  /** Returns the whole text, once. Fails with `bad_request` if it ends in the middle of a character. */
  *take(): CooperativeTask<string> {
    const text = this.#text + this.#decode();
    this.#text = '';
    yield* putTogether(text);
    return text;
  }

  #decode(chunk?: Uint8Array): string {
    try {
      return this.#decoder.decode(chunk, { stream: chunk !== undefined });
    } catch (cause) {
      throw new DatabaseError('bad_request', 'invalid_json', { cause });
    }
  }
}

/**
 * Inflates gzip with the platform's own streams, and limits the output: 64 KB can hold 64 MB. Fails as the collector does, and with
 * `bad_request` if the bytes are not complete gzip.
 */
export async function inflate(packed: readonly Uint8Array[], collector: Collector): Promise<void> {
  const inflated = new Blob([...packed] as Uint8Array<ArrayBuffer>[])
    .stream()
    .pipeThrough(new DecompressionStream('gzip'));
  const reader = inflated.getReader();
  const timeSlice = new TimeSlice();
  try {
    for (let step = await reader.read(); !step.done; step = await reader.read()) {
      await collector.add(step.value);
      if (timeSlice.isDue) await timeSlice.rest();
    }
  } catch (cause) {
    // The unread stream stops, and is freed. Cancelling it could end the process: Node 20 then passes on what was inflated already, and throws.
    throw cause instanceof DatabaseError
      ? cause
      : new DatabaseError('bad_request', 'The request body is not valid gzip data.', { cause });
  }
}
