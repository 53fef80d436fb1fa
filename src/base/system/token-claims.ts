import { settingRefusal } from './config.ts';
import type { Config } from './contract.ts';

/** A claim that a token must have, and the value that it must have, if one is specified. */
export interface RequiredClaim {
  readonly name: string;
  readonly value: string | undefined;
}

const REQUIRED_CLAIM = /\s*(?:([^\s,{}"]+)|\{\s*([^\s,{}"]+)\s*,\s*"([^"]*)"\s*\})\s*(?:,|$)/y;

/** Returns the setting `jwt_auth/required_claims`, which has the family's form. Fails with `bad_request` on any other text. */
export function requiredClaims(config: Config): readonly RequiredClaim[] {
  const text = (config.get('jwt_auth', 'required_claims') ?? '').trim();
  const claims: RequiredClaim[] = [];
  REQUIRED_CLAIM.lastIndex = 0;
  while (REQUIRED_CLAIM.lastIndex < text.length) {
    const [, alone, name = alone, value] = REQUIRED_CLAIM.exec(text) ?? [];
    if (name === undefined) {
      const rule = 'names of claims with commas between them, each alone or with its value, as in exp, {iss, "me"}';
      throw settingRefusal('jwt_auth/required_claims', text.slice(0, 200), rule);
    }
    claims.push({ name, value });
  }
  return claims;
}
