/** Splits the text of a stored body while it is read: its attachments come first, and the rest may have any length. */

import { TimeSlice } from '../../base/shared/turn.ts';
import { hasAttachments } from '../../database/documents/stored-attachments.ts';

export interface BodyOptions {
  /** The body as stored, up to the end of its attachments and closed there. */
  readonly stubs: string;
  /** What follows: from a comma on if there are other members, and up to the body's closing brace in any case. */
  readonly rest: AsyncIterable<string>;
}

export async function bodyParts(pieces: AsyncIterable<string>): Promise<BodyOptions> {
  const iterator = pieces[Symbol.asyncIterator]();
  const search = new EndOfAttachments();
  const timeSlice = new TimeSlice();
  let stubs = '';
  for (;;) {
    const step = await iterator.next();
    if (step.done === true) return { stubs, rest: only('}') };
    const text = step.value;
    // The first piece of a body is longer than the beginning of attachments.
    if (stubs === '' && !hasAttachments(text)) {
      return { stubs: '{}', rest: behind(text === '{}' ? '}' : `,${text.slice(1)}`, iterator) };
    }
    const end = search.in(text);
    if (end !== undefined) return { stubs: `${stubs}${text.slice(0, end)}}`, rest: behind(text.slice(end), iterator) };
    stubs += text;
    if (timeSlice.isDue) await timeSlice.rest();
  }
}

async function* only(text: string): AsyncGenerator<string, void, void> {
  yield text;
}

async function* behind(text: string, iterator: AsyncIterator<string>): AsyncGenerator<string, void, void> {
  try {
    yield text;
    for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) yield step.value;
  } finally {
    await iterator.return?.();
  }
}

/** Finds where the object that is the first member's value ends, in a text that comes in pieces. */
class EndOfAttachments {
  /** The position in the next piece: after the opening brace of the text, or after an escaped character at the end of the previous piece. */
  #at = 1;
  #depth = 0;
  #isInString = false;

  /** Returns undefined if it is not in this piece. */
  in(text: string): number | undefined {
    for (; this.#at < text.length; this.#at += 1) {
      const character = text[this.#at];
      if (this.#isInString) {
        // The escaped character may be beyond the text's end: it is skipped there as well.
        if (character === '\\') this.#at += 1;
        else if (character === '"') this.#isInString = false;
      } else if (character === '"') this.#isInString = true;
      else if (character === '{') this.#depth += 1;
      else if (character === '}') this.#depth -= 1;
      if (character === '}' && !this.#isInString && this.#depth === 0) return this.#at + 1;
    }
    this.#at -= text.length;
    return undefined;
  }
}
