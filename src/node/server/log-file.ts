/**
 * Also keeps the log in a file, if `log/file` names one (docs/node.md#the-log). A full file is renamed to `FILE.1`, and the previous
 * one to `FILE.2`, and so on. Entries are written after the requests that caused them; if the disk can't keep up, some
 * are left out, and the file says how many.
 */
import { type FileHandle, open, rename, rm } from 'node:fs/promises';
import { integerSetting } from '../../base/system/config.ts';
import type { Config } from '../../base/system/contract.ts';

const DEFAULT_BYTES = 10_485_760;
const DEFAULT_FILES = 5;
/** The part of a file's bytes that clients' entries may take. */
const SHARE_OF_CLIENTS = 1 / 4;
const OWNER_ONLY = 0o600;
/** UTF-16 units that may wait to be written. */
const MAX_WAITING = 4_194_304;

interface OpenFile {
  readonly path: string;
  readonly handle: FileHandle;
  bytes: number;
}

export class LogFile {
  readonly #config: () => Config;
  readonly #onFailure: (message: string) => void;
  #file: OpenFile | undefined;
  #waiting: string[] = [];
  /** For the open file, including what waits to be written. */
  #unitsOfClients = 0;
  #waitingUnits = 0;
  #dropped = 0;
  #writing: Promise<void> | undefined;
  /** The file that could not be written; nothing more is reported about it until another one is named. */
  #failed: string | undefined;

  /** `config` is called again and again. `onFailure` is called once if a file can't be written. */
  constructor(config: () => Config, onFailure: (message: string) => void) {
    this.#config = config;
    this.#onFailure = onFailure;
  }

  /** An entry without a newline at its end. Entries of clients fill a part of each file at most, so that they never push all others out. */
  write(entry: string, isOfClient = false): void {
    if (this.#path === undefined) return;
    if (isOfClient && this.#unitsOfClients > this.#mostBytes * SHARE_OF_CLIENTS) return;
    if (isOfClient) this.#unitsOfClients += entry.length;
    if (this.#waitingUnits > MAX_WAITING) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push(`${entry}\n`);
    this.#waitingUnits += entry.length;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
    });
  }

  /** Returns the content of the file; undefined if there is none. See `LogTail`. */
  async read(bytes: number, offset: number): Promise<Uint8Array | undefined> {
    const path = this.#path;
    await this.#writing;
    if (path === undefined) return undefined;
    let handle: FileHandle | undefined;
    try {
      handle = await open(path, 'r');
      const { size } = await handle.stat();
      const end = Math.max(0, size - offset);
      const start = Math.max(0, end - bytes);
      const { buffer, bytesRead } = await handle.read(new Uint8Array(end - start), 0, end - start, start);
      return buffer.subarray(0, bytesRead);
    } catch {
      // It was not created yet, or no longer belongs to this log: memory has the latest entries.
      return undefined;
    } finally {
      await handle?.close();
    }
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#closeFile();
  }

  get #path(): string | undefined {
    return this.#config().get('log', 'file') || undefined;
  }

  get #mostBytes(): number {
    return integerSetting(this.#config(), 'log', 'max_bytes') ?? DEFAULT_BYTES;
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const text = this.#take();
      const path = this.#path;
      if (path === undefined || path === this.#failed) continue;
      try {
        const file = await this.#open(path);
        const bytes = Buffer.from(text);
        await file.handle.appendFile(bytes);
        file.bytes += bytes.length;
      } catch (error) {
        this.#failed = path;
        this.#onFailure(`The log can't be written to ${path}: ${error instanceof Error ? error.message : error}`);
        await this.#closeFile();
      }
    }
  }

  #take(): string {
    const text = this.#waiting.join('');
    const dropped = this.#dropped;
    this.#waiting = [];
    this.#waitingUnits = 0;
    this.#dropped = 0;
    return dropped === 0 ? text : `${text}(${dropped} entries were left out: the disk was too slow)\n`;
  }

  async #open(path: string): Promise<OpenFile> {
    if (this.#file?.path !== path) await this.#closeFile();
    this.#file ??= await openForAppend(path);
    if (this.#file.bytes < this.#mostBytes) return this.#file;
    await this.#closeFile();
    await setAside(path, Math.max(1, integerSetting(this.#config(), 'log', 'max_files') ?? DEFAULT_FILES));
    this.#file = await openForAppend(path);
    this.#unitsOfClients = 0;
    return this.#file;
  }

  async #closeFile(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.handle.close().catch(() => undefined);
  }
}

async function openForAppend(path: string): Promise<OpenFile> {
  const handle = await open(path, 'a', OWNER_ONLY);
  const { size } = await handle.stat();
  return { path, handle, bytes: size };
}

/** `files`: how many there are in total. */
async function setAside(path: string, files: number): Promise<void> {
  const nameOf = (number: number) => (number === 0 ? path : `${path}.${number}`);
  await rm(nameOf(files - 1), { force: true });
  for (let number = files - 2; number >= 0; number--) {
    await rename(nameOf(number), nameOf(number + 1)).catch(() => undefined);
  }
}
