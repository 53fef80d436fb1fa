/**
 * The replications that requests have asked for, among the workers of an instance: the owner of the storage has them done, and whoever becomes
 * the owner next goes on with them.
 */
import type { SessionStore } from '../bridge/ownership/shared-session.ts';

export interface SessionRequestsOptions {
  /** Called where this worker has saved something. */
  onChange(): void;
  /** Called where another worker has. */
  onLoad(): void;
}

export class SessionRequests implements SessionStore {
  readonly #options: SessionRequestsOptions;
  #requests = '';
  /** How often any worker has saved something. */
  #version = 0;

  constructor(options: SessionRequestsOptions) {
    this.#options = options;
  }

  get text(): string {
    return this.#version === 0 ? '' : JSON.stringify({ version: this.#version, requests: this.#requests });
  }

  /** As the core keeps them. */
  get requests(): string {
    return this.#requests;
  }

  load(text: string): void {
    const { version, requests }: Partial<Record<string, unknown>> = Object(JSON.parse(text));
    if (typeof version !== 'number' || typeof requests !== 'string' || version <= this.#version) return;
    this.#version = version;
    this.#requests = requests;
    this.#options.onLoad();
  }

  save(requests: string): void {
    this.#version += 1;
    this.#requests = requests;
    this.#options.onChange();
  }
}
