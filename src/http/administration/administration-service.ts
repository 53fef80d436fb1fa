import type { LogTail } from '../../system/log-buffer.ts';

/** What the handlers that steer the service need beside what all requests share. */
export interface AdministrationService {
  /** The text by which the configuration keeps the password of a server admin, whatever the password looks like. */
  readonly hashAdminPassword: (password: string) => Promise<string>;
  /** Whether the text begins as such a text does, and is none: nobody could log in by it. */
  readonly isUnreadableHash: (text: string) => boolean;
  readonly logTail: LogTail;
  /** See `CoreOptions`. */
  readonly restart: (() => Promise<void>) | undefined;
}
