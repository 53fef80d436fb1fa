/** The files of the administration page, for the service worker of an app that has the page. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Where they lie in the app's root. The service worker looks for them there. */
export const UTILS_FOLDER = 'settee-utils/';
const SCRIPT = 'settee-sw-utils.js';

export interface UtilsFiles {
  /** Names in the app's root. */
  readonly names: readonly string[];
  read(name: string): Buffer;
  /** What the script of the ready-made service worker begins with: the address of the page's script, which changes with the page. */
  head(): string;
}

/** `folder` is where the built page is. Its HTML is left out: the script contains it. */
export function openUtils(folder: string): UtilsFiles {
  if (!existsSync(join(folder, SCRIPT)))
    throw new Error(`settee({ utils }): the administration page is not in ${folder}`);
  const assets = readdirSync(join(folder, 'assets')).map((name) => `assets/${name}`);
  const read = (name: string) => readFileSync(join(folder, name.slice(UTILS_FOLDER.length)));
  return {
    names: [SCRIPT, ...assets].map((name) => UTILS_FOLDER + name),
    read,
    head: () => {
      const script = UTILS_FOLDER + SCRIPT;
      const hash = createHash('sha256').update(read(script)).digest('hex').slice(0, 8);
      return `self.setteeUtilsScript=${JSON.stringify(`${script}?${hash}`)};\n`;
    },
  };
}

/** Throws an Error for the address of another origin: browsers open such addresses without the app's service worker. */
export function mustServePage(base: string): void {
  if (!/^([a-z][a-z0-9+.-]*:)?\/\//i.test(base)) return;
  throw new Error(
    `settee({ utils }): the administration page needs a base that is a path, such as /db/, but the base is ${base}. Use a path, or omit utils.`,
  );
}
