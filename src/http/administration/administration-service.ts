import type { LogTail } from '../../system/log-buffer.ts';

/** What the handlers that steer the service need beside what all requests share. */
export interface AdministrationService {
  /** The text by which the configuration keeps the password of a server admin. What looks like such a text stays as it is. */
  readonly hashAdminPassword: (password: string) => Promise<string>;
  readonly logTail: LogTail;
  /** See `CoreOptions`. */
  readonly restart: (() => Promise<void>) | undefined;
}
