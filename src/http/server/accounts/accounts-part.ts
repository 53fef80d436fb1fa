import type { UserWrites } from '../../../accounts/access/write-guard.ts';
import type { Authenticator, Standing } from '../../../accounts/contract.ts';
import type { ReadRestriction } from '../../../accounts/read-restrictions/read-restriction.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { RequestUser } from '../../../base/shared/message.ts';
import type { Answer, Context } from '../../request/context.ts';
import type { DocumentHandler, HandlerPart } from '../../request/handlers.ts';
import type { AccountsService } from './accounts-service.ts';
import { deleteSession, getSession, postSession } from './session-handlers.ts';

export const accountsHandlers = { getSession, postSession, deleteSession } as const;

/** Accounts, as far as requests need them: loaded where credentials are sent, or there is an admin. */
export interface AccountsPart extends HandlerPart<AccountsService, keyof typeof accountsHandlers> {
  readonly authenticator: Authenticator;
  readonly userWrites: UserWrites;
  /** How a system database looks to somebody who is no admin of it; undefined where the database is an ordinary one. */
  shieldOf(database: string, user: RequestUser): ReadRestriction | undefined;
  /** What is known of that name by now. */
  standingOf(name: string): Promise<Standing>;
  /** The answer 401 as it asks its client to log in. */
  challenge(context: Context, answer: Answer): Answer;
  /** A document as its reader may see it, who is no admin of its system database. */
  readonly getProtectedDocument: DocumentHandler;
  /** Resolves when no plain password of a server admin is left in the configuration. */
  settled(): MaybePromise<void>;
  /** Logs what is left to say. Requests may still need the part. */
  close(): void;
}
