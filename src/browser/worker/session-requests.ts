/**
 * The replications that requests have started, shared among the workers of an instance: the owner of the storage runs them, and the next
 * owner continues them.
 */
import type { SessionStore } from '../bridge/ownership/shared-session.ts';

export interface SessionRequestsOptions {
  /** Called when this worker has saved something. */
  onChange(): void;
  /** Called when another worker has. */
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

  /** In the form in which the core keeps them. */
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
