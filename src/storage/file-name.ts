import { assert } from '../base/shared/assert.ts';

/** Names that every backend can use as a folder, a key or a part of a database name, whatever the host's rules. */
const FILE_NAME = /^[a-z0-9][a-z0-9._~-]{0,99}$/;

export function isFileName(text: string): boolean {
  return FILE_NAME.test(text);
}

/** Checks a name. The layer above makes file names, never a client: a bad name is a bug. */
export function assertFileName(file: string): void {
  assert(isFileName(file), () => `"${file}" is not a file name (${FILE_NAME.source})`);
}
