/** SQLite as it is without settings: rollback journal, synchronous=FULL. */
import { openSqlite } from './sqlite.mjs';

export const open = openSqlite('default');
