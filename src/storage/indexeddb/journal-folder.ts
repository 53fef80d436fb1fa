import { nameOf } from './indexeddb-errors.ts';

/** The folder of the origin's private file system with one folder for each file of a store. */
const FOLDER = 'settee-journals';
/** Length of a segment's header: one of its bytes is not zero once a later owner has read the segment. */
export const HEADER_BYTES = 8;

/** All attempts together take a second. */
const MAX_ATTEMPTS = 50;
const PAUSE_MS = 20;

/** Returns the origin's private file system. */
export type GetDirectory = () => Promise<FileSystemDirectoryHandle>;

declare global {
  interface FileSystemFileHandle {
    createSyncAccessHandle(options: { readonly mode: 'readwrite-unsafe' }): Promise<FileSystemSyncAccessHandle>;
  }
}

/** Several owners may have a segment open, since a frozen owner closes nothing. Supported by Chromium 121 and later, in dedicated workers. */
export const SHARED = { mode: 'readwrite-unsafe' } as const;

/** Returns whether this context can write files synchronously, also alongside others. */
export function canWriteAtOnce(): boolean {
  return 'FileSystemSyncAccessHandle' in globalThis && 'mode' in FileSystemSyncAccessHandle.prototype;
}

/** Returns a file's folder; undefined if there is none and none is to be made. */
export async function openFolder(
  getDirectory: GetDirectory,
  name: string,
  create: boolean,
): Promise<FileSystemDirectoryHandle | undefined> {
  try {
    const all = await (await getDirectory()).getDirectoryHandle(FOLDER, { create });
    return await all.getDirectoryHandle(encodeURIComponent(name), { create });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Removes a file's folder and everything in it that no one has open. */
export async function removeFolder(getDirectory: GetDirectory, name: string): Promise<void> {
  try {
    const all = await (await getDirectory()).getDirectoryHandle(FOLDER);
    await all.removeEntry(encodeURIComponent(name), { recursive: true });
  } catch (error) {
    if (!isMissing(error)) throw error;
  }
}

/**
 * Returns the content of a segment that its former owner can't write to any more; undefined if the segment is gone. If this context can
 * write files synchronously, it writes the seal, which that owner finds at its next record. Otherwise that owner must be gone: as long as
 * it has the segment open, this fails with `NoModificationAllowedError`. `mustBeOwner` is called before the seal is written, and fails
 * if it must not be.
 */
export async function sealAndRead(
  folder: FileSystemDirectoryHandle,
  name: string,
  mustBeOwner: () => Promise<void>,
): Promise<Uint8Array | undefined> {
  try {
    const file = await folder.getFileHandle(name);
    return canWriteAtOnce() ? await sealed(file, mustBeOwner) : await unowned(file);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

/** Returns the current content of a segment; undefined if the segment is gone. */
export async function readSegment(folder: FileSystemDirectoryHandle, name: string): Promise<Uint8Array | undefined> {
  try {
    return (await contentOf(await folder.getFileHandle(name))).subarray(HEADER_BYTES);
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function sealed(file: FileSystemFileHandle, mustBeOwner: () => Promise<void>): Promise<Uint8Array> {
  const access = await file.createSyncAccessHandle(SHARED);
  try {
    await mustBeOwner();
    access.write(new Uint8Array([1]), { at: 0 });
    const bytes = new Uint8Array(access.getSize());
    return bytes.subarray(HEADER_BYTES, access.read(bytes, { at: 0 }));
  } finally {
    access.close();
  }
}

/** Retries: a dead owner may have it open for a moment longer than its locks. */
async function unowned(file: FileSystemFileHandle): Promise<Uint8Array> {
  for (let attempt = 1; ; attempt += 1) {
    const before = await contentOf(file);
    if (before[0] === 1) return before.subarray(HEADER_BYTES);
    try {
      await (await file.createWritable()).abort();
      return (await contentOf(file)).subarray(HEADER_BYTES);
    } catch (error) {
      if (nameOf(error) !== 'NoModificationAllowedError' || attempt === MAX_ATTEMPTS) throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
}

async function contentOf(file: FileSystemFileHandle): Promise<Uint8Array> {
  return new Uint8Array(await (await file.getFile()).arrayBuffer());
}

function isMissing(error: unknown): boolean {
  return nameOf(error) === 'NotFoundError';
}
