import type { Instance } from '../contract.ts';
import { channelName } from '../instance.ts';
import { PROTOCOL, type ToAll } from '../wire.ts';
import { asToAll } from '../wire-codec.ts';

/** Holds a part of the session as text; only the owner of the storage reads its content. */
export interface SessionStore {
  /** Empty while there is nothing. */
  readonly text: string;
  /** Takes over what another store announced. */
  load(text: string): void;
}

/** What all participants of an instance share while any of them is left, and what no storage keeps. */
export interface SessionStores {
  readonly cookies: SessionStore;
  /** The replications that requests have started. */
  readonly replications: SessionStore;
}

export interface SharedSession {
  /** Sends the present content of the stores to all others. */
  announce(): void;
  close(): void;
}

/**
 * Shares the session among all participants of an instance: each holder announces it when it changes, and when a worker starts that wants the
 * storage. So it outlives its owner while one participant remains, even if that is only a service worker between two
 * pages.
 */
export function shareSession(instance: Instance, { cookies, replications }: SessionStores): SharedSession {
  const from = crypto.randomUUID();
  const all = new BroadcastChannel(channelName(instance));
  const announce = (): void => {
    const messages: ToAll[] = [];
    if (cookies.text !== '') messages.push({ protocol: PROTOCOL, from, kind: 'cookies', jar: cookies.text });
    const requests = replications.text;
    if (requests !== '') messages.push({ protocol: PROTOCOL, from, kind: 'replications', requests });
    for (const message of messages) all.postMessage(message);
  };
  all.onmessage = ({ data }: MessageEvent<unknown>) => {
    const message = asToAll(data);
    if (message?.protocol !== PROTOCOL) return;
    if (message.kind === 'cookies') cookies.load(message.jar);
    else if (message.kind === 'replications') replications.load(message.requests);
    else if (message.kind === 'wanted') announce();
  };
  return { announce, close: () => all.close() };
}

/** For a service worker, which only holds the session for the next owner. */
export function createSessionRelay(): SessionStores {
  return { cookies: new RelayedText(), replications: new RelayedText() };
}

class RelayedText implements SessionStore {
  #text = '';

  get text(): string {
    return this.#text;
  }

  load(newer: string): void {
    this.#text = newer;
  }
}

export interface SessionRequestsOptions {
  /** Called when this worker has saved something. */
  onChange(): void;
  /** Called when another worker has. */
  onLoad(): void;
}

/** The replications that requests have started: the owner of the storage runs them, and the next owner continues them. */
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
