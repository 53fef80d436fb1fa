import { DatabaseError } from '../../base/errors/database-error.ts';

const NAME = /^[a-z][a-z0-9_$()+/-]*$/;

/** Names that begin with `_` and are valid databases nevertheless. */
const SYSTEM_NAMES: ReadonlySet<string> = new Set(['_users', '_replicator']);

/** Maximum characters of a name; the interface sets no limit, file systems and URLs do. */
const MAX_NAME_LENGTH = 238;

/** Refuses what is not a database name (docs/http/databases.md#database-names) with `illegal_database_name`. */
export function checkDatabaseName(name: string): void {
  if (name.length > MAX_NAME_LENGTH) {
    throw new DatabaseError('illegal_database_name', `A database name has at most ${MAX_NAME_LENGTH} characters.`);
  }
  if (NAME.test(name) || SYSTEM_NAMES.has(name)) return;
  throw new DatabaseError(
    'illegal_database_name',
    `Name: '${name}'. Only lowercase characters (a-z), digits (0-9), and any of the characters _, $, (, ), +, -, and / are allowed. Must begin with a letter.`,
  );
}

/**
 * Returns the database's file to which a file of the store belongs, or that file itself. A database's files besides its own
 * (its view indexes) must be named `<file of the database>.<suffix>`: they are created and removed with the database.
 */
export function databaseFileOf(file: string): string {
  const [readable, incarnation] = file.split('.', 2);
  return incarnation === undefined ? file : `${readable}.${incarnation}`;
}

/** Whether `createFileName` made the file's name, or the file belongs to such a file. All other files in a store are not ours. */
export function isDatabaseFile(file: string): boolean {
  return /\.\w+[\da-f]{8}(\.|$)/.test(file);
}

/**
 * Returns a file name for a new incarnation of a database: the readable part of its name, and the incarnation's id, which makes
 * it unique and ends in eight hexadecimal digits. Safe on every file system: lower-case letters, digits, `-` and one `.`, at most 60 characters.
 */
export function createFileName(name: string, incarnation: string): string {
  const readable = name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, 40);
  return `${readable === '' ? 'db' : readable}.${incarnation}`;
}
