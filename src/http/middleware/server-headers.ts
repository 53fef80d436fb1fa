/** Sets `Server` and `Date` on every response, and forbids guessing its type (docs/http/answers.md#common-headers). */
import type { Clock } from '../../base/shared/clock.ts';
import { whenReady } from '../../base/shared/maybe-promise.ts';
import { VERSION } from '../../base/system/version.ts';
import type { Answer, Handler } from '../request/context.ts';
import { withHeader } from '../response/responses.ts';

const SERVER = `Settee/${VERSION}`;

export function addServerHeaders(clock: Clock, next: Handler): Handler {
  const date = new HttpDate(clock);
  const addTo = (answer: Answer): Answer => {
    withHeader(answer, 'server', SERVER);
    withHeader(answer, 'x-content-type-options', 'nosniff');
    return withHeader(answer, 'date', date.now());
  };
  return (context) => whenReady(next(context), addTo);
}

/** The date in HTTP's format, built once a second: building it takes more than a microsecond. */
class HttpDate {
  readonly #clock: Clock;
  #second = Number.NaN;
  #text = '';

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  now(): string {
    const second = Math.floor(this.#clock.now() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#text = new Date(second * 1000).toUTCString();
    }
    return this.#text;
  }
}
