/** The files of the administration page, which the build puts beside the server. */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PageFile, PageFiles } from '../../http/server/administration/administration-service.ts';
import { pageType } from '../../http/server/administration/page-answer.ts';

/** In the package, beside the built server in a clone, and for a server that runs from its sources, as in tests, the last build. */
const FOLDERS = ['utils/', '../utils/', '../../../dist/utils/'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

export class BuiltPages implements PageFiles {
  /** Listed once, so that no name can lead out of the folder. */
  #listed: Promise<ListedFolder> | undefined;
  /** Small, and read again and again. */
  readonly #read = new Map<string, Promise<PageFile>>();

  async get(name: string): Promise<PageFile | undefined> {
    const type = pageType(name);
    this.#listed ??= listBuilt();
    const { folder, names } = await this.#listed;
    if (type === undefined || !names.has(name)) return undefined;
    const reading = this.#read.get(name) ?? readPage(folder, name, type);
    this.#read.set(name, reading);
    try {
      return await reading;
    } catch (failure) {
      this.#read.delete(name);
      throw failure;
    }
  }
}

async function readPage(folder: string, name: string, type: string): Promise<PageFile> {
  const body = await readFile(join(folder, name));
  const tag = `"${createHash('sha256').update(body).digest('hex').slice(0, 16)}"`;
  return { type, body, tag, isLasting: name.startsWith('assets/') };
}

interface ListedFolder {
  readonly folder: string;
  readonly names: ReadonlySet<string>;
}

/** No names where the page was not built. */
async function listBuilt(): Promise<ListedFolder> {
  for (const folder of FOLDERS) {
    const names = await listFiles(folder);
    if (names.has('index.html')) return { folder, names };
  }
  return { folder: '', names: new Set() };
}

/** The names below the folder, with slashes; none if there is no such folder. */
async function listFiles(folder: string): Promise<ReadonlySet<string>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  return new Set(files.map(({ parentPath, name }) => relative(folder, join(parentPath, name)).split(sep).join('/')));
}
