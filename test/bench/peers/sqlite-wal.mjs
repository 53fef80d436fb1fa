/** SQLite with journal_mode=WAL and synchronous=NORMAL; FULL where a write has to survive a power cut. */
import { openSqlite } from './sqlite.mjs';

export const open = openSqlite('wal');
