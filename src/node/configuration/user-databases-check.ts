/** The values that the settings of `couch_peruser` can have (docs/http/accounts.md#a-database-per-user). */
import { DatabaseError } from '../../base/errors/database-error.ts';
import { choiceSetting } from '../../base/system/config.ts';
import type { Config } from '../../base/system/contract.ts';

const PREFIX = /^[a-z][a-z\d_$()+/-]{0,99}$/;

/** Fails with `bad_request`. */
export function checkUserDatabases(config: Config, section: string, key: string): void {
  if (key !== 'database_prefix') choiceSetting(config, section, key, ['true', 'false']);
  else if (!PREFIX.test(config.get(section, key) ?? '')) {
    const reason = `Setting ${section}/${key} can't begin the name of a database; it must be at most 100 lower-case letters, digits and _$()+-/, the first one a letter.`;
    throw new DatabaseError('bad_request', reason);
  }
}
