import { assert } from 'chai';
import type { OpenAnswer } from './host.ts';
import { DeadlineError, withDeadline } from './with-deadline.ts';

/** Reads a response while it is being sent. Text that was taken is not returned again. */
export class FeedReader {
  readonly status: number;
  readonly #answer: OpenAnswer;
  readonly #asked: string;
  readonly #decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** Text that has arrived and was not taken yet. */
  #text = '';
  #isOver = false;

  constructor(answer: OpenAnswer, asked: string) {
    this.status = answer.status;
    this.#answer = answer;
    this.#asked = asked;
  }

  /** Takes the name in lower case. */
  header(name: string): string | undefined {
    return this.#answer.headers[name];
  }

  /** Takes everything up to and including the first `end`. Fails if the feed ends before. */
  async until(end: string): Promise<string> {
    let at = this.#text.indexOf(end);
    for (; at < 0; at = this.#text.indexOf(end)) {
      assert(await this.#more(), `${this.#asked} ended where ${JSON.stringify(end)} was expected: ${this.#text}`);
    }
    return this.#take(at + end.length);
  }

  /** Takes the next line that is not a heartbeat, without its end. */
  async line(): Promise<string> {
    for (;;) {
      const line = await this.until('\n');
      if (line !== '\n') return line.slice(0, -1);
    }
  }

  /** Takes this many of them. */
  async lines(count: number): Promise<string[]> {
    const lines: string[] = [];
    while (lines.length < count) lines.push(await this.line());
    return lines;
  }

  /** Takes everything up to the feed's end. Fails if it breaks off. */
  async rest(): Promise<string> {
    while (await this.#more());
    return this.#take(this.#text.length);
  }

  /** The feed must soon break off: returns the message of the failure. */
  async failure(): Promise<string> {
    const end = await this.#restOrFailure();
    assert.instanceOf(end, Error, `${this.#asked} should have broken off`);
    return end.message;
  }

  /** The feed must soon be over, whether it ends or breaks off: returns the rest of its text, or the message of the failure. */
  async over(): Promise<string> {
    const end = await this.#restOrFailure();
    return end instanceof Error ? end.message : end;
  }

  /** Reads no further. May be called more than once. */
  async cancel(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#answer.cancel();
  }

  async #restOrFailure(): Promise<string | Error> {
    const end = await this.rest().catch((error: unknown) => (error instanceof Error ? error : new Error(`${error}`)));
    if (end instanceof DeadlineError) throw end;
    return end;
  }

  async #more(): Promise<boolean> {
    if (this.#isOver) return false;
    const chunk = await withDeadline(this.#answer.next(), `more of ${this.#asked} after ${JSON.stringify(this.#text)}`);
    if (chunk === undefined) this.#isOver = true;
    this.#text += chunk === undefined ? this.#decoder.decode() : this.#decoder.decode(chunk, { stream: true });
    return !this.#isOver;
  }

  #take(length: number): string {
    const taken = this.#text.slice(0, length);
    this.#text = this.#text.slice(length);
    return taken;
  }
}
