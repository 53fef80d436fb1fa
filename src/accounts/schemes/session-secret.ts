/** The secret that signs session cookies, `svc_httpd_auth/secret`. If it is unset, one is generated and stored. */
import { isDatabaseError } from '../../base/errors/database-error.ts';
import { randomHex } from '../../base/shared/bytes.ts';
import type { RandomBytes } from '../../base/shared/clock.ts';
import type { ConfigStore } from '../../base/system/contract.ts';

const BYTES = 32;

export class SessionSecret {
  readonly #config: ConfigStore;
  readonly #random: RandomBytes;
  #making: Promise<string> | undefined;

  constructor(config: ConfigStore, random: RandomBytes) {
    this.#config = config;
    this.#random = random;
  }

  /** Undefined if it is unset: nothing was signed with it then. */
  get current(): string | undefined {
    return this.#config.get('svc_httpd_auth', 'secret') || undefined;
  }

  async get(): Promise<string> {
    const { current } = this;
    if (current !== undefined) return current;
    this.#making ??= this.#make().finally(() => {
      this.#making = undefined;
    });
    return this.#making;
  }

  async #make(): Promise<string> {
    const secret = randomHex(this.#random, BYTES);
    try {
      await this.#config.set('svc_httpd_auth', 'secret', secret);
    } catch (error) {
      // Set to nothing at the start: this secret lasts until the next start.
      if (!isDatabaseError(error, 'modification_not_allowed')) throw error;
      await this.#config.set('svc_httpd_auth', 'secret', secret, { persist: false });
    }
    return this.current ?? secret;
  }
}
