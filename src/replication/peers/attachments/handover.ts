import type { Answer } from '../client/answer.ts';

/** A response that is read outside of the call that returned it; the call lasts until reading ends. */
export class Handover {
  readonly answer: Promise<Answer>;
  #resolve: ((answer: Answer) => void) | undefined;
  #reject: ((failure: unknown) => void) | undefined;
  #end: (() => void) | undefined;
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });

  constructor() {
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  async give(answer: Answer): Promise<void> {
    this.#resolve?.(answer);
    await this.#ended;
    await answer.discard();
  }

  fail(failure: unknown): void {
    this.#reject?.(failure);
  }

  end(): void {
    this.#end?.();
  }
}
