import type { Instance } from '../contract.ts';
import { channelName } from '../instance.ts';
import { PROTOCOL, type ToAll } from '../wire/wire.ts';
import { asToAll } from '../wire/wire-decoding.ts';

/** Keeps the session's cookies as text; only the owner of the storage looks into it. */
export interface SessionKeeper {
  /** Empty while there is nothing to tell. */
  readonly text: string;
  /** Takes over what another keeper announced. */
  load(text: string): void;
}

export interface SessionShare {
  /** Tells all others what the keeper holds now. */
  announce(): void;
  close(): void;
}

/**
 * Hands the session's cookies on: whoever keeps them tells them when they change, and when a worker comes up that wants the storage, so that
 * they outlive their owner for as long as anybody of the instance is left, a service worker between two pages included.
 */
export function shareSession(instance: Instance, keeper: SessionKeeper): SessionShare {
  const from = crypto.randomUUID();
  const all = new BroadcastChannel(channelName(instance));
  const announce = (): void => {
    if (keeper.text === '') return;
    const message: ToAll = { protocol: PROTOCOL, from, kind: 'cookies', jar: keeper.text };
    all.postMessage(message);
  };
  all.onmessage = ({ data }: MessageEvent<unknown>) => {
    const message = asToAll(data);
    if (message?.protocol !== PROTOCOL) return;
    if (message.kind === 'cookies') keeper.load(message.jar);
    else if (message.kind === 'wanted') announce();
  };
  return { announce, close: () => all.close() };
}

/** For a service worker, which only passes them on. */
export function createSessionNote(): SessionKeeper {
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
