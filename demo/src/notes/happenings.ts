/** What just happened, in one sentence for each action. */
import { fill, make } from '../elements/elements.ts';
import { formatTime } from '../elements/format.ts';

const KEPT = 30;

export class Happenings {
  readonly element: HTMLElement;
  readonly #latest = make('p', { class: 'happened', role: 'status' });
  readonly #earlier = make('ol', { class: 'happened-before', 'aria-label': 'What happened before', tabindex: '0' });
  #said: { readonly at: number; readonly sentence: string }[] = [];

  constructor() {
    fill(this.#latest, 'Nothing yet: write a note, disconnect a device, or make a conflict.');
    this.#earlier.hidden = true;
    this.element = make(
      'section',
      { class: 'happenings' },
      make('h2', {}, 'What just happened'),
      this.#latest,
      this.#earlier,
    );
  }

  tell(sentence: string): void {
    this.#said = [{ at: Date.now(), sentence }, ...this.#said].slice(0, KEPT);
    const [latest, ...earlier] = this.#said;
    fill(this.#latest, latest?.sentence);
    this.#earlier.hidden = earlier.length === 0;
    fill(
      this.#earlier,
      ...earlier.map(({ at, sentence }) =>
        make('li', {}, make('time', {}, formatTime(at)), make('span', {}, sentence)),
      ),
    );
  }
}
