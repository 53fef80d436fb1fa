/** The right to a response that waits for events: a client that loses it is sent nothing more, and need not be waited for. */
import type { Context } from '../request/context.ts';
import { assertKept, isSurelyKept, lost } from '../request/kept-rights.ts';

export class OpenGrant {
  readonly #context: Context;
  readonly #onLost: () => void;
  readonly #stop: () => void;
  #isAsking = false;

  /** `onLost` is called as soon as the right is lost. */
  constructor(context: Context, onLost: () => void) {
    this.#context = context;
    this.#onLost = onLost;
    const { grant, services, user } = context;
    const note = () => this.#note();
    this.#stop = grant === undefined ? () => undefined : services.access.onChange(grant.database, user, note);
  }

  /** Fails with `unauthorized` if the right is lost. */
  async assert(): Promise<void> {
    const { identity, services } = this.#context;
    if (identity?.until !== undefined && identity.until <= services.clock.now()) throw lost('The token has expired.');
    if (!isSurelyKept(this.#context)) await assertKept(this.#context);
  }

  /** Called when the grant is not needed any more. May be called more than once. */
  end(): void {
    this.#stop();
  }

  #note(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    this.assert().then(
      () => {
        this.#isAsking = false;
        // Something may have changed since the last check.
        if (!isSurelyKept(this.#context)) this.#note();
      },
      () => this.#onLost(),
    );
  }
}
