import type { ByteStream, PlainResponse } from '../../../src/base/shared/message.ts';
import { isStream } from '../../../src/http/request/bodies.ts';

/** Reads a feed whose events are lines. */
export class FeedLines {
  readonly #stream: ByteStream;
  readonly #decoder = new TextDecoder();
  #text = '';

  constructor({ status, body }: PlainResponse) {
    if (status !== 200 || !isStream(body))
      throw new Error(`a feed was expected, not ${status} ${JSON.stringify(body)}`);
    this.#stream = body;
  }

  /** The next event, as JSON; undefined at the end. */
  async next(): Promise<unknown> {
    for (;;) {
      const end = this.#text.indexOf('\n');
      const line = this.#text.slice(0, Math.max(end, 0));
      this.#text = this.#text.slice(end + 1);
      if (line !== '') return JSON.parse(line);
      if (end >= 0) continue;
      const chunk = await this.#stream.pull();
      if (chunk === undefined) return undefined;
      this.#text += this.#decoder.decode(chunk, { stream: true });
    }
  }

  close(): Promise<void> {
    return this.#stream.cancel();
  }
}
