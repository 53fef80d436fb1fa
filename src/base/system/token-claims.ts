import { DatabaseError } from '../errors/database-error.ts';
import type { Config } from './contract.ts';

/** A claim that a token must have, and the value that it must have, if one is specified. */
export interface RequiredClaim {
  readonly name: string;
  readonly value: string | undefined;
}

const SECTION = 'jwt_auth';
const KEY = 'required_claims';
const ITEM = /\s*(?:([^\s,{}"]+)|\{\s*([^\s,{}"]+)\s*,\s*"([^"]*)"\s*\})\s*(?:,|$)/y;

/** Returns the setting `jwt_auth/required_claims`, which has the family's form. Fails with `bad_request` on any other text. */
export function requiredClaims(config: Config): readonly RequiredClaim[] {
  const text = (config.get(SECTION, KEY) ?? '').trim();
  const claims: RequiredClaim[] = [];
  ITEM.lastIndex = 0;
  while (ITEM.lastIndex < text.length) {
    const [, alone, name = alone, value] = ITEM.exec(text) ?? [];
    if (name === undefined) throw refusal(text);
    claims.push({ name, value });
  }
  return claims;
}

function refusal(text: string): DatabaseError {
  const reason = `Setting ${SECTION}/${KEY} is "${text.slice(0, 200)}"; it must be names of claims with commas between them, each alone or with its value, as in exp, {iss, "me"}.`;
  return new DatabaseError('bad_request', reason);
}
