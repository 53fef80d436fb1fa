import type { ReadRestriction } from '../../../accounts/access/read-restriction.ts';
import type { UserWrites } from '../../../accounts/access/write-guard.ts';
import type { Authenticator, Standing } from '../../../accounts/contract.ts';
import type { MaybePromise } from '../../../base/shared/maybe-promise.ts';
import type { RequestUser } from '../../../base/shared/message.ts';
import type { Answer, Context } from '../../request/context.ts';
import type { DocumentHandler, HandlerPart } from '../../request/handlers.ts';
import type { AccountsService } from './accounts-service.ts';
import { deleteSession, getSession, postSession } from './session-handlers.ts';

export const accountsHandlers = { getSession, postSession, deleteSession } as const;

/** Accounts, as far as requests need them: loaded if credentials are sent, or if there is an admin. */
export interface AccountsPart extends HandlerPart<AccountsService, keyof typeof accountsHandlers> {
  readonly authenticator: Authenticator;
  readonly userWrites: UserWrites;
  /** How a system database looks to a user who is not an admin of it; undefined if the database is an ordinary one. */
  shieldOf(database: string, user: RequestUser): ReadRestriction | undefined;
  /** Returns what is known of that name now. */
  standingOf(name: string): Promise<Standing>;
  /** Returns the 401 response in the form that asks the client to log in. */
  challenge(context: Context, answer: Answer): Answer;
  /** Answers with a document as a reader who is not an admin of its system database may see it. */
  readonly getProtectedDocument: DocumentHandler;
  /** Resolves when the configuration contains no plain password of a server admin any more. */
  settled(): MaybePromise<void>;
  /** Logs remaining messages. Requests may still need the part. */
  close(): void;
}
