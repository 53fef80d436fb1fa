/** The response of a peer, read under a watchdog. All failures are failures of the attempt, so that the request can be sent again. */
import { COMMA, OPEN_BRACE, OPEN_BRACKET } from '../../../base/json/characters.ts';
import { assertShallowInSteps } from '../../../base/json/nesting.ts';
import { isObject, type JsonObject } from '../../../base/json/objects.ts';
import { parseInSteps } from '../../../base/json/parse-in-steps.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import { type CooperativeTask, runCooperatively, TimeSlice } from '../../../base/shared/turn.ts';
import type { MemoryShare } from '../../peer-memory.ts';
import { AttemptFailure, describeFailure, plainRefusal } from './attempt-failure.ts';
import type { TransportAnswer } from './transport.ts';
import type { Watchdog } from './watchdog.ts';

/** Maximum characters of a short response: that an operation succeeded, or what a database is. */
export const SHORT_ANSWER = 65_536;
/** Texts up to this length in characters are parsed in one step. */
const SHORT_TEXT = 4_096;
/** Bytes that a value takes in a list or an object, besides its text. */
const VALUE_BYTES = 44;
/** Characters of an error's reason that are kept. */
const MAX_REASON_LENGTH = 1_000;
/** Characters that are read of an error response. */
const READ_OF_ERROR = 16_384;
/** Shorter parts of headers are words such as `Basic`. */
const SHORTEST_SECRET = 8;
const NO_JSON = 'it is not complete JSON, or not in the expected form';

export interface AnswerOptions {
  /** Undefined for responses from this process. */
  readonly memory: MemoryShare | undefined;
  /** See `PeerClientOptions`. */
  readonly tellsReasons: boolean | undefined;
  /** The headers with credentials of the request: a peer that repeats them in a reason would show them to its readers. */
  readonly credentials: Readonly<Record<string, string>>;
}

export class Answer {
  readonly status: number;
  /** A method and an address, for error messages. */
  readonly #what: string;
  readonly #answer: TransportAnswer;
  readonly #watchdog: Watchdog;
  readonly #options: AnswerOptions;
  #held = 0;
  readonly #timeSlice = new TimeSlice();

  constructor(what: string, answer: TransportAnswer, watchdog: Watchdog, options: AnswerOptions) {
    this.status = answer.status;
    this.#what = what;
    this.#answer = answer;
    this.#watchdog = watchdog;
    this.#options = options;
  }

  get #memory(): MemoryShare | undefined {
    return this.#options.memory;
  }

  /** `name` in lower case. */
  header(name: string): string | undefined {
    return this.#answer.header(name);
  }

  /** Returns the next piece of the body as text; undefined at its end. */
  async pullText(): Promise<string | undefined> {
    // Data that is available at once would leave no turn for others.
    if (this.#timeSlice.isDue) await this.#timeSlice.rest();
    return this.#read(() => this.#answer.body.pullText());
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      if (this.#timeSlice.isDue) await this.#timeSlice.rest();
      const chunk = await this.#read(() => this.#answer.body.pull());
      if (chunk === undefined) return;
      yield chunk;
    }
  }

  /** Counts memory that is needed until it is freed, or the response has ended. Waits if none is free; fails with `ReplicationError`. */
  hold(bytes: number): Promise<void> | undefined {
    if (this.#memory === undefined || bytes === 0) return undefined;
    const wait = this.#memory.hold(bytes);
    if (wait === undefined) this.#held += bytes;
    return wait?.then(() => {
      this.#held += bytes;
    });
  }

  free(bytes: number): void {
    const held = Math.min(bytes, this.#held);
    this.#held -= held;
    this.#memory?.free(held);
  }

  /** Frees all that it held: what was read is no longer used. */
  end(): void {
    this.free(this.#held);
  }

  /** `longest`: the maximum length of the response in characters. A longer one is unusable. */
  async text(longest: number): Promise<string> {
    let text = '';
    for (let piece = await this.pullText(); piece !== undefined; piece = await this.pullText()) {
      await this.hold(this.sizeOf(piece));
      text += piece;
      if (text.length > longest) throw this.unusable(`it is longer than ${longest} characters`);
    }
    return text;
  }

  async json(longest: number): Promise<unknown> {
    return this.parse(await this.text(longest));
  }

  /** Returns the value of a text from the response. */
  parse(text: string): MaybePromise<unknown> {
    if (text.length > SHORT_TEXT) return this.#parseLong(text);
    return this.useable((): unknown => JSON.parse(text));
  }

  async #parseLong(text: string): Promise<unknown> {
    if (this.#memory !== undefined) await this.hold(await runCooperatively(valueBytes(text)));
    try {
      return await runCooperatively(parsedInSteps(text));
    } catch (cause) {
      throw this.unusable(NO_JSON, cause);
    }
  }

  /** Returns the bytes that a text takes; 0 if memory is not counted. */
  sizeOf(text: string): number {
    return this.#memory === undefined ? 0 : textBytes(text);
  }

  /** Returns the result of `read`, which throws a `SyntaxError` if the body is not as it should be. */
  useable<T>(read: () => T): T {
    try {
      return read();
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      throw this.unusable(NO_JSON, cause);
    }
  }

  async object(longest: number): Promise<JsonObject> {
    const value = await this.json(longest);
    if (isObject(value)) return value;
    throw this.unusable('it is not a JSON object');
  }

  /** Returns `error` and `reason` of an error response. */
  async refusal(): Promise<{ readonly error: string; readonly reason: string }> {
    let text = '';
    try {
      for (let piece = await this.pullText(); piece !== undefined; piece = await this.pullText()) {
        text += piece;
        if (text.length > READ_OF_ERROR) break;
      }
      const body: unknown = JSON.parse(text);
      if (isObject(body)) {
        const { error = this.status, reason = '' } = body;
        const told = { error: this.#shortText(error), reason: this.#shortText(reason) };
        return this.#options.tellsReasons === false ? plainRefusal(told, this.status) : told;
      }
    } catch {
      // A response from an intermediary proxy is not JSON. The status says enough.
    } finally {
      await this.discard();
    }
    return { error: String(this.status), reason: '' };
  }

  #shortText(value: unknown): string {
    const given = typeof value === 'string' ? value : JSON.stringify(value);
    // Text that can't be stored would prevent a document from reporting a failure.
    const text = withoutCredentials(given, this.#options.credentials).replace(/\p{Surrogate}/gu, '\ufffd');
    return text.length > MAX_REASON_LENGTH ? `${text.slice(0, MAX_REASON_LENGTH)}…` : text;
  }

  /** Reading ends here. */
  discard(): Promise<void> {
    return this.#answer.body.cancel();
  }

  /** The response arrived, but can't be the requested one: it was cut off, or changed on its way. */
  unusable(why: string, cause?: unknown): AttemptFailure {
    return new AttemptFailure(`${this.#what} returned an unusable response: ${why}`, {
      status: this.status,
      cause,
    });
  }

  async #read<T>(pull: () => Promise<T>): Promise<T> {
    try {
      return await this.#watchdog.during(pull());
    } catch (failure) {
      if (failure instanceof AttemptFailure) throw failure;
      throw new AttemptFailure(`The response to ${this.#what} was cut off: ${describeFailure(failure)}`, {
        cause: failure,
      });
    }
  }
}

/** Very deeply nested text takes very long to parse, and fails wherever it is walked through. */
function* parsedInSteps(text: string): CooperativeTask<unknown> {
  yield* assertShallowInSteps(text);
  return yield* parseInSteps(text);
}

/** Values outside lists and objects take little. Commas within strings count, too: it is an upper bound. */
function* valueBytes(text: string): CooperativeTask<number> {
  let values = 0;
  for (let from = 0; from < text.length; from += VALUES_STEP) {
    const end = Math.min(text.length, from + VALUES_STEP);
    for (let at = from; at < end; at++) {
      const code = text.charCodeAt(at);
      if (code === COMMA || code === OPEN_BRACE || code === OPEN_BRACKET) values++;
    }
    yield;
  }
  return textBytes(text) + values * VALUE_BYTES;
}

/** Characters between two checks of the clock. */
const VALUES_STEP = 65_536;
const WIDE = /[^\0-\xff]/;

function textBytes(text: string): number {
  return WIDE.test(text) ? 2 * text.length : text.length;
}

/** Also without parts of a header, such as a token without the word before it. */
function withoutCredentials(text: string, headers: Readonly<Record<string, string>>): string {
  const words = Object.values(headers).flatMap((value) => [value, ...value.split(/[\s;,]+/)]);
  // Of `name=value` also the value.
  const parts = [...words, ...words.map((word) => word.replace(/^\w+=/, ''))];
  const secrets = parts.filter(({ length }) => length >= SHORTEST_SECRET);
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text);
}
