/** The answer of a peer, read under the eyes of a watchdog. All failures are of the attempt, so that the request can be sent again. */
import { assertShallowInSteps } from '../../../json/nesting.ts';
import { isObject, type JsonObject } from '../../../json/objects.ts';
import { parseInSteps } from '../../../json/parse-in-steps.ts';
import { inTurns, Pace, type Steps } from '../../../shared/turn.ts';
import type { TransportAnswer } from '../transport/contract.ts';
import { AttemptFailure, describeFailure } from './attempt-failure.ts';
import type { Watchdog } from './watchdog.ts';

/** Characters of an answer that is to be read as a whole, at most. */
const LONGEST_TEXT = 268_435_456;
/** Characters of an error's reason that are kept. */
const LONGEST_REASON = 1_000;
/** Characters that are read of an answer which says why a request failed. */
const READ_OF_ERROR = 16_384;
const NO_JSON = 'it is no whole JSON, or not of the form that it should have';

export class Answer {
  readonly status: number;
  /** What is asked, for failures: a method and an address. */
  readonly #what: string;
  readonly #answer: TransportAnswer;
  readonly #watchdog: Watchdog;
  readonly #pace = new Pace();

  constructor(what: string, answer: TransportAnswer, watchdog: Watchdog) {
    this.status = answer.status;
    this.#what = what;
    this.#answer = answer;
    this.#watchdog = watchdog;
  }

  /** `name` in lower case. */
  header(name: string): string | undefined {
    return this.#answer.header(name);
  }

  /** The next piece of the body as text; undefined at its end. */
  async pullText(): Promise<string | undefined> {
    // What is at hand at once would leave nobody else a turn.
    if (this.#pace.isDue) await this.#pace.rest();
    return this.#read(() => this.#answer.body.pullText());
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, void> {
    for (;;) {
      if (this.#pace.isDue) await this.#pace.rest();
      const chunk = await this.#read(() => this.#answer.body.pull());
      if (chunk === undefined) return;
      yield chunk;
    }
  }

  async text(): Promise<string> {
    let text = '';
    for (let piece = await this.pullText(); piece !== undefined; piece = await this.pullText()) {
      text += piece;
      if (text.length > LONGEST_TEXT) throw this.unusable('it is too long');
    }
    return text;
  }

  async json(): Promise<unknown> {
    const text = await this.text();
    try {
      return await inTurns(parsedInSteps(text));
    } catch (cause) {
      throw this.unusable(NO_JSON, cause);
    }
  }

  /** What `read` makes of the body, which throws a `SyntaxError` where that is not as it should be. */
  useable<T>(read: () => T): T {
    try {
      return read();
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
      throw this.unusable(NO_JSON, cause);
    }
  }

  async object(): Promise<JsonObject> {
    const value = await this.json();
    if (isObject(value)) return value;
    throw this.unusable('it is no JSON object');
  }

  /** `error` and `reason` of an answer that tells why the request failed. */
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
        return { error: shortText(error), reason: shortText(reason) };
      }
    } catch {
      // What comes from a proxy in between is no JSON. The status says enough.
    } finally {
      await this.discard();
    }
    return { error: String(this.status), reason: '' };
  }

  /** Nobody reads on. */
  discard(): Promise<void> {
    return this.#answer.body.cancel();
  }

  /** The answer came, but can't be what was asked for: it was cut off, or changed on its way. */
  unusable(why: string, cause?: unknown): AttemptFailure {
    return new AttemptFailure(`${this.#what} was answered with something that is of no use: ${why}`, {
      status: this.status,
      cause,
    });
  }

  async #read<T>(pull: () => Promise<T>): Promise<T> {
    try {
      return await this.#watchdog.during(pull());
    } catch (failure) {
      if (failure instanceof AttemptFailure) throw failure;
      throw new AttemptFailure(`The answer to ${this.#what} broke off: ${describeFailure(failure)}`, {
        cause: failure,
      });
    }
  }
}

/** What is nested very deeply takes very long to parse, and fails wherever it is walked through. */
function* parsedInSteps(text: string): Steps<unknown> {
  yield* assertShallowInSteps(text);
  return yield* parseInSteps(text);
}

function shortText(value: unknown): string {
  const given = typeof value === 'string' ? value : JSON.stringify(value);
  // What can't be stored would keep a failure from being told in a document.
  const text = given.replace(/\p{Surrogate}/gu, '\ufffd');
  return text.length > LONGEST_REASON ? `${text.slice(0, LONGEST_REASON)}…` : text;
}
