/** Reads parts of a response while it arrives: the elements of a list, and the lines of a feed. */
import { ListCutter, ScalarElement } from '../../../base/json/list-cutter.ts';
import type { JsonObject } from '../../../base/json/objects.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { Answer } from './answer.ts';

/**
 * Passes on the elements of a list while they arrive, at most `most`. Returns the members around the list. Fails with an
 * `AttemptFailure` if the response is not such a list, is cut off, or has more elements or longer ones. An element that is neither an object nor
 * an array ends the list, and undefined is returned: the rest counts as not answered.
 */
export async function readElements(
  answer: Answer,
  { member, most, longest }: AnsweredList,
  take: (element: string) => MaybePromise<void>,
): Promise<JsonObject | undefined> {
  const cutter = new ListCutter(member, longest);
  let count = 0;
  let pending = 0;
  for (let piece = await answer.pullText(); piece !== undefined; piece = await answer.pullText()) {
    const text = piece;
    const size = answer.sizeOf(text);
    await answer.hold(size);
    pending += size;
    const elements = answer.useable(() => cutUpToScalar(cutter, text));
    if (elements === undefined) {
      await answer.discard();
      return undefined;
    }
    if (elements.length === 0) continue;
    // The caller counts what it keeps of an element.
    answer.free(pending);
    pending = 0;
    for (const element of elements) {
      if (++count > most) throw answer.unusable(`it has more than ${most} elements`);
      const taken = take(element);
      if (taken !== undefined) await taken;
    }
  }
  return answer.useable(() => cutter.finish());
}

export interface AnsweredList {
  /** The list's name if the response is an object. */
  readonly member: string;
  /** The maximum number of elements. */
  readonly most: number;
  /** The maximum characters of an element; undefined for as many as there is memory for. */
  readonly longest?: number | undefined;
}

/** Returns how many elements a list for so many requested items may have: some servers return more, or the same twice. */
export function mostElements(asked: number): number {
  return 2 * asked + SPARE_ELEMENTS;
}

const SPARE_ELEMENTS = 100;

function cutUpToScalar(cutter: ListCutter, text: string): readonly string[] | undefined {
  try {
    return cutter.push(text);
  } catch (failure) {
    if (failure instanceof ScalarElement) return undefined;
    throw failure;
  }
}

/** Cuts lines out of text that arrives in pieces. */
export class LineCutter {
  readonly #longest: number;
  /** The beginning of a line whose end has not arrived yet. */
  #rest = '';

  /** `longest`: maximum characters of a line. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  get rest(): string {
    return this.#rest;
  }

  /** Returns the lines that end in this piece. Reads only the piece, however long the line is. Throws `SyntaxError` for a line that is too long. */
  push(piece: string): string[] {
    const lines = piece.split('\n');
    const [first = '', ...others] = lines;
    this.#rest += first;
    if (this.#rest.length > this.#longest) throw new SyntaxError('A line is too long');
    const last = others.pop();
    if (last === undefined) return [];
    const ended = [this.#rest, ...others];
    this.#rest = last;
    return ended;
  }
}
