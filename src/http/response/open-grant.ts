/**
 * The right to an answer that goes on for long. It is looked at again when something has changed on which it depends: a security object, an
 * account, the configuration. Who has lost it is told nothing more (docs/http.md#rights-of-open-feeds).
 */
import { authorizeUser } from '../../auth/access/authorization.ts';
import { DatabaseError, isDatabaseError } from '../../errors/database-error.ts';
import type { MaybePromise } from '../../shared/maybe-promise.ts';
import type { RequestUser } from '../../shared/message.ts';
import type { Context } from '../request/context.ts';

export class OpenGrant {
  readonly #context: Context;
  readonly #onLost: () => void;
  readonly #stop: () => void;
  /** How often something has changed, and how often that was when it was looked at. */
  #changes = 0;
  #seen = 0;

  /** `onLost` is called as soon as the right is lost. */
  constructor(context: Context, onLost: () => void) {
    this.#context = context;
    this.#onLost = onLost;
    const { grant, services, user } = context;
    const note = () => this.#note();
    this.#stop = grant === undefined ? () => undefined : services.access.onChange(grant.database, user, note);
  }

  /** Fails with `unauthorized` where the right is lost. */
  async assert(): Promise<void> {
    while (this.#seen < this.#changes) {
      const changes = this.#changes;
      await this.#check();
      this.#seen = changes;
    }
  }

  /** Nobody needs it any more. May be called more than once. */
  end(): void {
    this.#stop();
  }

  #note(): void {
    this.#changes += 1;
    if (this.#changes - this.#seen > 1) return;
    this.assert().catch(() => this.#onLost());
  }

  /** Undefined where the credentials hold no more. Who the service's own requests are made for was found out when that was asked for. */
  #currentUser(): MaybePromise<RequestUser | undefined> {
    const { request, identity, services } = this.#context;
    const { access } = services;
    if (request.user !== undefined) return request.user;
    if (access.requiresUser && this.#context.user.name === null) return undefined;
    return identity === undefined ? access.withoutCredentials : identity.recheck();
  }

  async #check(): Promise<void> {
    const { grant, services } = this.#context;
    const user = await this.#currentUser();
    if (user === undefined) throw new DatabaseError('unauthorized', 'The credentials of this request hold no more.');
    if (grant === undefined) return;
    try {
      await authorizeUser(services.access, user, grant);
    } catch (error) {
      // A database that is gone ends its feeds in their own way.
      if (!isDatabaseError(error, 'not_found')) throw error;
    }
  }
}
