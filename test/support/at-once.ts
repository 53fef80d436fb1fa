import type { Steps } from '../../src/shared/turn.ts';

/** Does all the work in one go. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
