/** What became of the server: whether it is used, or why not, when it is tried again, and a button that tries at once. */
import { button, type Child, fill, make } from '../elements/elements.ts';
import { formatWait } from '../elements/format.ts';
import type { Again } from './again.ts';

const EVERY_MS = 1000;

export class ServerPanel {
  readonly element: HTMLElement;
  readonly #again: Again;
  readonly #text = make('p', { role: 'status' });
  /** Not part of the status, which would be read aloud each second. */
  readonly #next = make('span', { class: 'next-try' });
  readonly #now: HTMLButtonElement;
  readonly #line: HTMLElement;
  #said = '';
  #timer: ReturnType<typeof setInterval> | undefined;

  /** `onNow`: what else is tried when the button is pressed. */
  constructor(again: Again, onNow?: () => void) {
    this.#again = again;
    const now = () => {
      void again.now();
      onNow?.();
    };
    this.#now = button('Try now', now, { 'data-action': 'try-server' });
    this.#line = make('p', { class: 'server-again', hidden: true }, this.#next, this.#now);
    this.element = make('div', { class: 'server-panel' }, this.#text, this.#line);
    again.addEventListener('change', () => this.#refresh());
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#refresh(), EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Says this. The same text is not said again. */
  say(...text: readonly Child[]): void {
    const said = text.map((child) => (child instanceof Node ? child.textContent : child)).join('');
    if (said === this.#said) return;
    this.#said = said;
    fill(this.#text, ...text);
  }

  #refresh(): void {
    const { nextAt, isTrying } = this.#again;
    // While the server answers it is asked again and again, which nobody needs to know.
    const isFailing = nextAt !== undefined || (isTrying && !this.#line.hidden);
    this.#line.hidden = !isFailing;
    this.#now.disabled = isTrying;
    const seconds = nextAt === undefined ? 0 : Math.max(1, Math.ceil((nextAt - Date.now()) / 1000));
    const next = isTrying ? 'Trying …' : `Next try in ${formatWait(seconds)}.`;
    if (isFailing && this.#next.textContent !== next) fill(this.#next, next);
  }
}
