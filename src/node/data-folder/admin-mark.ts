/**
 * A file in the data folder that says that its server has admins. Settings may be in a file elsewhere, or come from flags: without them,
 * and without this mark, a copy of the folder would look like one that never had an admin, and would be served to everyone.
 */
import { access, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '../../storage/lmdb/folder.ts';

const FILE = 'has-admins';
const TEXT = `The server of this data folder has admins. While this file is here the folder is not served without one: "settee admin add NAME" sets one.
`;

export async function hasAdminMark(dataFolder: string): Promise<boolean> {
  try {
    await access(join(dataFolder, FILE));
    return true;
  } catch {
    return false;
  }
}

/** Changes nothing if it is already correct. */
export async function markAdmins(dataFolder: string, hasAdmins: boolean): Promise<void> {
  if ((await hasAdminMark(dataFolder)) === hasAdmins) return;
  const path = join(dataFolder, FILE);
  if (hasAdmins) await writeFile(path, TEXT);
  else await rm(path, { force: true });
  await syncPath(dataFolder);
}
