import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { Config, ConfigStore } from '../../../base/system/contract.ts';
import type { LogTail } from '../../../base/system/log-buffer.ts';
import type { Context } from '../../request/context.ts';

/** What the handlers that steer the service need beside what all requests share. */
export interface AdministrationService {
  /** The text by which the configuration keeps the password of a server admin, whatever the password looks like. */
  readonly hashAdminPassword: (password: string) => Promise<string>;
  /** Whether the text begins as such a text does, and is none: nobody could log in by it. */
  readonly isUnreadableHash: (text: string) => boolean;
  /** Why nobody could log in by an admin's text under these settings; undefined where somebody can, and for a plain password. */
  readonly whyUnusable: (config: Config, text: string) => string | undefined;
  /** Whether there are credentials besides names and passwords by which somebody could get in: keys of tokens, or proxies. */
  readonly knowsOthers: (config: ConfigStore) => boolean;
  /** See `whyNoAdmin`. */
  readonly whyNoAdmin: (
    config: ConfigStore,
    context: Context,
    methods: readonly string[],
  ) => MaybePromise<string | undefined>;
  readonly logTail: LogTail;
  /** Counts an entry that somebody other than an admin has written into the log. Fails with `too_many_requests` where an address sends them too fast. */
  readonly admitEntry: (address: string) => void;
  /** See `CoreOptions`. */
  readonly restart: (() => Promise<void>) | undefined;
}
