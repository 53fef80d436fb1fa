/** Limits of one selector (docs/limits.md#selectors-and-indexes), so that reading it and choosing a plan for it take no more than a turn. */
import { PatternRoom } from '../patterns/pattern-room.ts';
import { queryError } from '../query-error.ts';

const MOST_CONDITIONS = 10_000;
/** Values in all of its lists. */
const MOST_VALUES = 500_000;

export class SelectorRoom {
  readonly patterns = new PatternRoom();
  #conditions = 0;
  #values = 0;

  /** Fails with 400 `invalid_selector`. */
  addCondition(): void {
    this.#conditions += 1;
    if (this.#conditions <= MOST_CONDITIONS) return;
    throw queryError(
      'invalid_selector',
      `A selector has ${MOST_CONDITIONS} conditions at most. Give values of one field as the list of $in, or send several queries.`,
    );
  }

  /** Fails with 400 `invalid_selector`. */
  addValues(count: number): void {
    this.#values += count;
    if (this.#values <= MOST_VALUES) return;
    throw queryError(
      'invalid_selector',
      `The lists of a selector have ${MOST_VALUES} values at most. Send several queries, each with a part of them.`,
    );
  }
}
