/** Replaces the member `password` of a user document by its hash before the document is written (docs/http/accounts.md#passwords-of-users). */

import { isObject, ownMember } from '../../base/json/objects.ts';
import type { DocumentWrite } from '../../database/store/contract.ts';
import { PASSWORD_MEMBERS, type PasswordHash, userMembers } from '../passwords/password-hash.ts';

const PASSWORD = 'password';

/** A write whose document has a password to be hashed. */
export interface PlainPassword {
  readonly password: string;
  /** Returns the write as it is stored: without the plain password. */
  withHash(hash: PasswordHash): DocumentWrite;
}

/** Returns the write itself if there is nothing to hash. A password that is not a string stays in it, and `checkUserChange` refuses it. */
export function readPassword(write: DocumentWrite): DocumentWrite | PlainPassword {
  // Avoids parsing if the name does not occur. Any of its letters may be escaped.
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

/** Returns the document with a password's hash in place of the present one. */
export function bodyWith(
  document: Readonly<Record<string, unknown>>,
  members: Readonly<Record<string, string | number>>,
  without: readonly string[] = PASSWORD_MEMBERS,
): string {
  const kept = Object.entries(document).filter(([name]) => !without.includes(name));
  return JSON.stringify(Object.fromEntries([...kept, ...Object.entries(members)]));
}
