/** `Server` and `Date` on every answer (interface.md 1.3). */
import type { Clock } from '../../shared/clock.ts';
import { VERSION } from '../../system/version.ts';
import type { Handler } from '../handler.ts';
import { withHeader } from '../responses.ts';

const SERVER = `Settee/${VERSION}`;

export function addServerHeaders(clock: Clock, next: Handler): Handler {
  const date = new HttpDate(clock);
  return async (context) => {
    const answer = await next(context);
    withHeader(answer, 'server', SERVER);
    return withHeader(answer, 'date', date.now());
  };
}

/** The date in HTTP's form, made once a second: making it costs more than a microsecond. */
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
