import type { FeedLine, FeedRead } from '../controls.ts';
import { describeError } from '../outcome.ts';

/** Reads a body that comes line by line, and notes when each line came. */
export class FeedReader {
  readonly #lines: FeedLine[] = [];
  #bytes = 0;
  #isOver = false;
  #error: string | undefined;

  constructor(reader: ReadableStreamDefaultReader<Uint8Array>) {
    this.#read(reader).catch((error: unknown) => {
      this.#error = describeError(error);
      this.#isOver = true;
    });
  }

  report(): FeedRead {
    const read = { bytes: this.#bytes, lines: this.#lines, isOver: this.#isOver };
    return this.#error === undefined ? read : { ...read, error: this.#error };
  }

  async #read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let open = '';
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      this.#bytes += next.value.length;
      const lines = (open + decoder.decode(next.value, { stream: true })).split('\n');
      open = lines.pop() ?? '';
      for (const text of lines) this.#lines.push({ text: text.slice(0, 100), at: Date.now() });
    }
    if (open !== '') throw new Error(`the body ended in the middle of a line: ${open}`);
    this.#isOver = true;
  }
}
