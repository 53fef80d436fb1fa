import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { Config, ConfigStore } from '../../../base/system/contract.ts';
import type { LogTail } from '../../../base/system/log-buffer.ts';
import type { Context } from '../../request/context.ts';

export interface PageFile {
  readonly type: string;
  readonly body: Uint8Array;
  /** Changes with the content; in double quotes. */
  readonly tag: string;
  /** Its name changes with its content: it can be cached forever. */
  readonly isLasting: boolean;
}

/** The files of the administration page by their names, such as `index.html` and `assets/index-1a2b3c4d.js`. */
export interface PageFiles {
  get(name: string): MaybePromise<PageFile | undefined>;
}

/** What administration handlers need in addition to what all requests share. */
export interface AdministrationService {
  /** Returns the text that the configuration stores for a server admin's password, whatever the password looks like. */
  readonly hashAdminPassword: (password: string) => Promise<string>;
  /** Whether the text begins like such a hash, but is not one: no one could log in with it. */
  readonly isUnreadableHash: (text: string) => boolean;
  /** Why no one could log in with an admin's text under these settings; undefined if someone can, and for a plain password. */
  readonly whyUnusable: (config: Config, text: string) => string | undefined;
  /** Whether credentials other than names and passwords would let someone in: keys of tokens, or proxies. */
  readonly knowsOthers: (config: ConfigStore) => boolean;
  /** See `whyNoAdmin`. */
  readonly whyNoAdmin: (
    config: ConfigStore,
    context: Context,
    methods: readonly string[],
  ) => MaybePromise<string | undefined>;
  readonly logTail: LogTail;
  /** Counts a log entry written by a client that is not an admin. Fails with `too_many_requests` if an address sends them too fast. */
  readonly admitEntry: (address: string) => void;
  /** See `CoreOptions`. */
  readonly pages: PageFiles | undefined;
  /** Whether the administration page begins in read-only mode. */
  readonly readsOnly: () => boolean;
  /** See `CoreOptions`. */
  readonly restart: (() => Promise<void>) | undefined;
}
