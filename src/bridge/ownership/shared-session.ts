import type { Instance } from '../contract.ts';
import { channelName } from '../instance.ts';
import { PROTOCOL, type ToAll } from '../wire/wire.ts';
import { asToAll } from '../wire/wire-decoding.ts';

/** Holds the session's cookies as text; only the owner of the storage reads what is in them. */
export interface SessionStore {
  /** Empty while there are none. */
  readonly text: string;
  /** Takes over what another store announced. */
  load(text: string): void;
}

export interface SharedSession {
  /** Sends what the store holds now to all others. */
  announce(): void;
  close(): void;
}

/**
 * Shares the session's cookies among all of an instance: whoever holds them announces them when they change, and when a worker comes up
 * that wants the storage. So they outlive their owner for as long as anybody of the instance is left, also where that is only a service
 * worker between two pages.
 */
export function shareSession(instance: Instance, store: SessionStore): SharedSession {
  const from = crypto.randomUUID();
  const all = new BroadcastChannel(channelName(instance));
  const announce = (): void => {
    if (store.text === '') return;
    const message: ToAll = { protocol: PROTOCOL, from, kind: 'cookies', jar: store.text };
    all.postMessage(message);
  };
  all.onmessage = ({ data }: MessageEvent<unknown>) => {
    const message = asToAll(data);
    if (message?.protocol !== PROTOCOL) return;
    if (message.kind === 'cookies') store.load(message.jar);
    else if (message.kind === 'wanted') announce();
  };
  return { announce, close: () => all.close() };
}

/** For a service worker, which only holds the cookies for the next owner. */
export function createSessionRelay(): SessionStore {
  let text = '';
  return {
    get text() {
      return text;
    },
    load: (newer) => {
      text = newer;
    },
  };
}
