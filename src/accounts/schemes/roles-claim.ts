/** Where tokens have the roles of their users (docs/http/accounts.md#json-web-tokens). */
import type { Config } from '../../base/system/contract.ts';

/** The claim with the roles of a token's user, if no setting names another one. */
const ROLES_CLAIM = '_couchdb.roles';

/** Splits a path of the family's form: names with dots between them; a dot within a name has a backslash before it. */
export function claimPath(text: string): readonly string[] {
  return (text.match(/(?:\\\.|[^.])+/g) ?? []).map((name) => name.replaceAll('\\.', '.'));
}

/** Returns where tokens have the roles of their users, by the settings `jwt_auth/roles_claim_path` and `jwt_auth/roles_claim_name`. */
export function rolesClaimPath(config: Config): readonly string[] {
  const path = config.get('jwt_auth', 'roles_claim_path') ?? '';
  return path === '' ? [config.get('jwt_auth', 'roles_claim_name') || ROLES_CLAIM] : claimPath(path);
}
