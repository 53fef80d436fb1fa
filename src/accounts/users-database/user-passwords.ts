/** The member `password` of a document of a user is replaced by its hash before the document is written (docs/http/accounts.md#passwords-of-users). */

import { isObject, ownMember } from '../../base/json/objects.ts';
import type { DocumentWrite } from '../../database/store/contract.ts';
import { PASSWORD_MEMBERS, type PasswordHash, userMembers } from '../passwords/password-hash.ts';

const PASSWORD = 'password';

/** A write whose document has a password that is to be hashed. */
export interface PlainPassword {
  readonly password: string;
  /** The write as it is kept: nothing of the plain password is left in it. */
  withHash(hash: PasswordHash): DocumentWrite;
}

/** The write itself where there is nothing to be hashed. A password that is no text stays in it, and is refused by `checkUserChange`. */
export function readPassword(write: DocumentWrite): DocumentWrite | PlainPassword {
  // Parsing is avoided where the name does not occur. Any of its letters may be escaped.
  if (!/"password"|\\u/.test(write.body)) return write;
  const document: unknown = JSON.parse(write.body);
  if (!isObject(document) || !Object.hasOwn(document, PASSWORD)) return write;
  const password = ownMember(document, PASSWORD);
  if (password === null || write.deleted) return { ...write, body: bodyWith(document, {}, [PASSWORD]) };
  if (typeof password !== 'string') return write;
  return {
    password,
    withHash: (hash) => ({
      ...write,
      body: bodyWith(document, userMembers(hash), [PASSWORD, ...PASSWORD_MEMBERS]),
    }),
  };
}

/** The document with a password's hash in the place of what it has. */
export function bodyWith(
  document: Readonly<Record<string, unknown>>,
  members: Readonly<Record<string, string | number>>,
  without: readonly string[] = PASSWORD_MEMBERS,
): string {
  const kept = Object.entries(document).filter(([name]) => !without.includes(name));
  return JSON.stringify(Object.fromEntries([...kept, ...Object.entries(members)]));
}
