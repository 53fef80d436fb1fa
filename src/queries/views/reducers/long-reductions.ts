import { Pending } from '../../../base/shared/pending.ts';
import { atOnce, type CooperativeTask, runCooperatively } from '../../../base/shared/turn.ts';

/** Characters that are reduced in one go. */
const SHORT = 65_536;
/** Reductions that are kept until they are requested again: enough for several queries at a time, if the reductions are not very long. */
const MOST_RESULTS = 256;
const LEAST_RESULTS = 16;
const MOST_CHARACTERS = 33_554_432;

type Made = { readonly text: string } | { readonly failure: unknown };

/** The reductions of one built-in reduce whose values are long: other work can run while they are made. */
export class LongReductions {
  /** Reductions by their input; the oldest are dropped. */
  readonly #made = new Map<string, Made>();
  readonly #underWay = new Map<string, Promise<void>>();
  #characters = 0;

  /** Returns what `make` returns for the texts, which have no control characters, at once if they are short. Throws `Pending` if they are long. */
  of(operation: string, texts: readonly string[], make: (texts: readonly string[]) => CooperativeTask<string>): string {
    let length = 0;
    for (const text of texts) length += text.length;
    if (length <= SHORT) return atOnce(make(texts));
    const key = `${operation}\n${texts.join('\n')}`;
    const made = this.#made.get(key);
    if (made !== undefined && 'text' in made) return made.text;
    if (made !== undefined) {
      this.#drop(key);
      throw made.failure;
    }
    const ready = this.#underWay.get(key) ?? this.#make(key, make(texts));
    this.#underWay.set(key, ready);
    throw new Pending(ready);
  }

  async #make(key: string, steps: CooperativeTask<string>): Promise<void> {
    try {
      this.#keep(key, { text: await runCooperatively(steps) });
    } catch (failure) {
      this.#keep(key, { failure });
    } finally {
      this.#underWay.delete(key);
    }
  }

  #keep(key: string, made: Made): void {
    this.#made.set(key, made);
    this.#characters += key.length;
    for (const oldest of this.#made.keys()) {
      const { size } = this.#made;
      if (size <= LEAST_RESULTS || (size <= MOST_RESULTS && this.#characters <= MOST_CHARACTERS)) return;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    if (this.#made.delete(key)) this.#characters -= key.length;
  }
}
