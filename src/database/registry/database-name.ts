import { DatabaseError } from '../../base/errors/database-error.ts';

const NAME = /^[a-z][a-z0-9_$()+/-]*$/;

/** Names that begin with `_` and are databases all the same. */
const SYSTEM_NAMES: ReadonlySet<string> = new Set(['_users', '_replicator']);

/** Characters that a name may have at most; the interface sets no limit, file systems and URLs do. */
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
 * The database's file to which a file of the store belongs, itself included. What a database has besides its own file
 * (its view indexes) must be named `<file of the database>.<suffix>`: it lives and dies with the database.
 */
export function databaseFileOf(file: string): string {
  const [readable, incarnation] = file.split('.', 2);
  return incarnation === undefined ? file : `${readable}.${incarnation}`;
}

/** Whether a file has a name that `createFileName` made, or belongs to such a file. All other files in a store are not ours. */
export function isDatabaseFile(file: string): boolean {
  return /\.\w+[\da-f]{8}(\.|$)/.test(file);
}

/**
 * A file name for a new incarnation of a database: what can be read of its name, and the incarnation's id, which makes
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
