import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, type Stats } from 'node:fs';
import { lstat, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject } from '../../base/json/objects.ts';
import { InputError } from './document-splitter.ts';
import type { Stub } from './document-text.ts';

/** What is known about an exported file. */
export interface FileRecord {
  readonly name: string;
  /** The file's own name. */
  readonly file: string;
  /** From the document's stub: the digest of the bytes as the server stores them. */
  readonly digest: string | null;
  readonly length: number;
  /** `md5-` and Base64, of the plain bytes, which are those of the file. */
  readonly md5: string;
}

/** `toFileName` returns none of these names. */
const MARKER = '~settee.json';
const RECORDS = '~attachments.json';
const TEMPORARY = '~partial';
const LAYOUT = 1;

/**
 * A folder of files: below it a folder for each document that has attachments, and in that a file for each attachment, with its plain
 * bytes, and `~attachments.json`, which describes them (docs/node.md#attachments-in-files). Nothing is read or written through symbolic
 * links below the folder.
 */
export class AttachmentFolder {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  /** For writing. Fails with `InputError` if the folder holds anything and was not begun by an export. */
  static async create(path: string): Promise<AttachmentFolder> {
    const folder = new AttachmentFolder(path);
    await refused(`${path} can't be written`, mkdir(path, { recursive: true }));
    if (await folder.#isMarked()) return folder;
    const present = await refused(`${path} can't be read`, readdir(path));
    if (present.length > 0) {
      throw new InputError(`${path} contains files that are not from an export; name a new or an empty folder.`);
    }
    const marker = `${JSON.stringify({ content: 'attachments', layout: LAYOUT })}\n`;
    await refused(`${path} can't be written`, writeFile(join(path, MARKER), marker));
    return folder;
  }

  /** For reading. The folder need not come from an export. */
  static async open(path: string): Promise<AttachmentFolder> {
    const status = await refused(`${path} can't be read`, stat(path));
    if (!status.isDirectory()) throw new InputError(`${path} can't be read: it is not a folder`);
    const folder = new AttachmentFolder(path);
    await folder.#isMarked();
    return folder;
  }

  /** Fails with `InputError` for a folder of a later version. */
  async #isMarked(): Promise<boolean> {
    const marker = await readJson(join(this.path, MARKER));
    if (!isObject(marker)) return false;
    if (marker['layout'] === LAYOUT) return true;
    throw new InputError(`${this.path} was written by a newer version of Settee, and can't be used by this one.`);
  }

  /** Both must be well-formed Unicode. */
  fileOf(id: string, name: string): string {
    return join(this.path, toFileName(id), toFileName(name));
  }

  /** For the file itself; undefined if there is none, or it is not an ordinary file in an ordinary folder. */
  async statusOf(id: string, name: string): Promise<Stats | undefined> {
    const folder = await lstat(join(this.path, toFileName(id))).catch(toUndefined);
    const file = folder?.isDirectory() ? await lstat(this.fileOf(id, name)).catch(toUndefined) : undefined;
    return file?.isFile() ? file : undefined;
  }

  /** Creates the document's folder if it does not exist. */
  async prepare(id: string): Promise<void> {
    await makeFolder(join(this.path, toFileName(id)));
  }

  /** Writes a file that appears under its name only when it is complete. Returns the result of `write`. */
  async replace<T>(path: string, write: (file: string) => Promise<T>): Promise<T> {
    const partial = await this.temporary();
    try {
      const result = await write(partial);
      await rename(partial, path);
      return result;
    } catch (error) {
      await rm(partial, { force: true });
      throw error;
    }
  }

  /** Returns the path of a file that does not exist yet; `end` removes it if it exists then. */
  async temporary(): Promise<string> {
    const folder = join(this.path, TEMPORARY);
    await makeFolder(folder);
    return join(folder, `${process.pid}-${randomBytes(8).toString('hex')}`);
  }

  /** Removes unfinished files of this process, and of processes that were ended early. */
  async end(): Promise<void> {
    const folder = join(this.path, TEMPORARY);
    for (const name of await readdir(folder).catch(() => [])) {
      const owner = Number.parseInt(name, 10);
      if (owner === process.pid || !isRunning(owner)) await rm(join(folder, name), { force: true });
    }
    // Another export may be using it.
    await rmdir(folder).catch(() => undefined);
  }

  /** By the names of attachments; empty if none can be read. */
  async records(id: string): Promise<ReadonlyMap<string, FileRecord>> {
    const written = await readJson(join(this.path, toFileName(id), RECORDS));
    const list = isObject(written) ? written['attachments'] : undefined;
    const records = Array.isArray(list) ? list.filter(isRecord) : [];
    return new Map(records.map((record) => [record.name, record]));
  }

  async writeRecords(id: string, records: readonly FileRecord[]): Promise<void> {
    const text = `${JSON.stringify({ _id: id, attachments: records }, undefined, 2)}\n`;
    await this.replace(join(this.path, toFileName(id), RECORDS), (path) => writeFile(path, text, { flag: 'wx' }));
  }
}

/** Why a file can't be the stub's content, judging only by its length and MD5; undefined if it may be. */
export function mismatch(stub: Stub, length: number, md5: string, record: FileRecord | undefined): string | undefined {
  const { digest } = stub;
  if (stub.length !== undefined && stub.length !== length) return `it has ${length} bytes, not ${stub.length}`;
  if (digest === undefined || digest === md5) return undefined;
  // The digest of content that the server stores compressed says nothing about the plain bytes; their MD5 was recorded when they were exported.
  if (record?.digest === digest) return record.md5 === md5 ? undefined : `its digest is ${md5}, not ${record.md5}`;
  return `its digest is ${md5}, not ${digest}`;
}

export function toDigest(md5: Buffer): string {
  return `md5-${md5.toString('base64')}`;
}

export async function digestOfFile(path: string): Promise<string> {
  const md5 = createHash('md5');
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) md5.update(chunk);
  return toDigest(md5.digest());
}

/** A link in its place would lead elsewhere. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(path).catch((error: unknown) => {
    if (!hasCode(error, 'EEXIST')) throw error;
  });
  if (!(await lstat(path)).isDirectory()) throw new InputError(`${path} is not a folder; remove it.`);
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is FileRecord {
  if (!isObject(value)) return false;
  const { name, file, digest, length, md5 } = value;
  const isText = (member: unknown) => typeof member === 'string';
  return isText(name) && isText(file) && (isText(digest) || digest === null) && isText(md5) && Number.isInteger(length);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

function toUndefined(error: unknown): undefined {
  if (!hasCode(error, 'ENOENT') && !hasCode(error, 'ENOTDIR')) throw error;
}

async function refused<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw new InputError(`${what}: ${error instanceof Error ? error.message : error}`, { cause: error });
  }
}

/** Bytes of a name; file systems take 255, and some encrypted ones less. */
const longestName = 140;
/** Names that Windows reserves for devices, whatever follows after a dot. */
const deviceName = /^(?:con|prn|aux|nul|com\d|lpt\d)(?=\.|$)/;

/**
 * The name of the file, or folder, for any text that is well-formed Unicode: different ones for different texts, even on file systems that
 * do not distinguish case, that change the form of Unicode, or that reserve names for devices. It is never `.` or `..`,
 * has no separators, and begins with `~` only if it is a hash.
 *
 * - Letters without accents, digits, `_`, `-`, and dots inside stay. Everything else becomes `%` and two hexadecimal digits per byte of UTF-8.
 * - If there are capital letters, a number and `~` come before: in base 16, with a bit for each letter, 1 for a capital.
 * - A name that would be longer than 140 bytes is `~` and the SHA-256 of the text.
 */
export function toFileName(text: string): string {
  const name = `${capitals(text)}${escaped(text)}`;
  if (name !== '' && name.length <= longestName) return name.replace(deviceName, (device) => escapeBytes(device));
  return `~${createHash('sha256').update(text, 'utf8').digest('hex')}`;
}

function escaped(text: string): string {
  return text.replace(/[^\w.-]+|^\.|\.$/g, escapeBytes);
}

function escapeBytes(text: string): string {
  return Array.from(Buffer.from(text, 'utf8'), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
}

/** Each letter is one bit, so texts that differ only in case have different numbers. */
function capitals(text: string): string {
  const bits = Array.from(text.matchAll(/[a-zA-Z]/g), ([letter]) => (letter < 'a' ? '1' : '0')).join('');
  return bits.includes('1') ? `${BigInt(`0b${bits}`).toString(16)}~` : '';
}
