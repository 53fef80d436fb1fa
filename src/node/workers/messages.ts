/** What the processes of one server tell each other by the channel of Node between parent and child. */
import type { ReadersStatus } from '../forwarding/for-readers.ts';
import type { ServeOptions } from '../server/serve.ts';
import type { RunningServer } from '../server/server.ts';

/** The first message to a child. It is not in the environment or on the command line, where others could read the secret. */
export interface StartMessage {
  readonly type: 'start';
  readonly role: 'owner' | 'reader';
  readonly options: ServeOptions;
  /** Of the owner's socket. */
  readonly path: string;
  readonly secret: string;
  /** Number of readers. */
  readonly readers: number;
  /** Replaces the port of the settings. */
  readonly port?: number | undefined;
}

export type ToChild =
  | StartMessage
  /** To the owner: where the readers accept requests. */
  | { readonly type: 'address'; readonly url: string }
  /** To the owner, after each change. */
  | { readonly type: 'readers'; readonly status: ReadersStatus }
  | { readonly type: 'stop' };

export type ServerDescription = Omit<RunningServer, 'handle' | 'close'>;

export type FromChild =
  /** It hears messages from now on. */
  | { readonly type: 'hello' }
  /** The owner takes requests of readers. */
  | { readonly type: 'listening' }
  /** The owner has started. */
  | { readonly type: 'started'; readonly server: ServerDescription }
  /** A reader accepts requests. */
  | { readonly type: 'ready'; readonly url: string }
  /** It can't start. `code`: of a `DatabaseError`. */
  | { readonly type: 'failed'; readonly code?: string | undefined; readonly reason: string };

/** Both processes run the same build, so that only what Node itself sends has to be told apart. */
export function isToChild(message: unknown): message is ToChild {
  return hasType(message, ['start', 'address', 'readers', 'stop']);
}

export function isFromChild(message: unknown): message is FromChild {
  return hasType(message, ['hello', 'listening', 'started', 'ready', 'failed']);
}

function hasType(message: unknown, types: readonly string[]): boolean {
  return typeof message === 'object' && message !== null && types.includes(`${Reflect.get(message, 'type')}`);
}
