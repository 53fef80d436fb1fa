/** Makes the service worker keep the files of the build, so that the app starts without a network. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin, ResolvedConfig, Rolldown } from 'vite';

export interface PrecacheOptions {
  /** Files that are not kept, by their names in the build, such as `/^videos\//`. Source maps are never kept. Default: none. */
  readonly exclude?: readonly RegExp[];
  /**
   * One of the build's files: the page for navigations to addresses that are not files, for apps with routes of their own. Default: none, the
   * network answers them.
   */
  readonly fallback?: string;
}

interface Entry {
  readonly url: string;
  readonly revision: string | null;
}

const SERVICE_WORKER = 'settee-sw.js';
const PART = 'settee-sw-precache.js';
/** The browser itself keeps a service worker, with its imports; and what a service worker fetches for itself does not come from what it keeps. */
const OF_SERVICE_WORKER = /^settee-(sw[.-]|utils\/settee-sw|quickjs\.wasm$)/;
const SOURCE_MAP = /\.map$/;
/** The end of names in which the bundler has put a hash. */
const HASHED = /[-.][\w-]{8,}\.\w+$/;
/** The folder of the page's worker is named after its whole content; the administration page was built with hashes in all names. */
const IN_HASHED_FOLDER = /(^|\/)settee-([0-9a-f]{8}|utils\/assets)\//;

/** `folder` is where the built files are. */
export function createPrecachePlugin({ exclude = [], fallback }: PrecacheOptions, folder: string): Plugin {
  let config: ResolvedConfig;
  const isKept = (name: string) => ![OF_SERVICE_WORKER, SOURCE_MAP, ...exclude].some((pattern) => pattern.test(name));
  return {
    name: 'settee:precache',
    apply: 'build',
    enforce: 'post',
    configResolved: (resolved) => {
      config = resolved;
      if (/^([a-z]+:)?\/\//i.test(config.base)) {
        throw new Error(
          `settee({ precache }): a service worker keeps files of its own origin, but the base of this app is ${config.base}. Use a base that is a path, or omit precache.`,
        );
      }
    },
    generateBundle: {
      order: 'post',
      handler(output, bundle) {
        if (this.environment.config.consumer !== 'client') return;
        const worker = bundle[SERVICE_WORKER];
        if (worker?.type !== 'asset') return this.error(`${SERVICE_WORKER} is not in the build`);
        const built = Object.values(bundle).map((file) => toEntry(file, output));
        const copied = config.build.copyPublicDir ? publicFiles(config.publicDir) : [];
        const files = [...built, ...copied].filter(({ url }) => isKept(decodeURI(url))).sort(byUrl);
        if (fallback !== undefined && !files.some(({ url }) => url === encodeURI(fallback))) {
          return this.error(
            `settee({ precache }): the fallback ${fallback} is not in the build; name one of its pages.`,
          );
        }
        const list = { files, version: '', ...(fallback !== undefined && { fallback: encodeURI(fallback) }) };
        // In the script itself, so that each build has a different one: that is how the browser finds it.
        worker.source = `self.setteePrecache=${JSON.stringify(list)};\n${textOf(worker.source)}`;
        this.emitFile({ type: 'asset', fileName: PART, source: readFileSync(join(folder, PART)) });
      },
    },
  };
}

function toEntry(file: Rolldown.OutputAsset | Rolldown.OutputChunk, output: Rolldown.NormalizedOutputOptions): Entry {
  const content = file.type === 'chunk' ? file.code : file.source;
  const isHashed =
    IN_HASHED_FOLDER.test(file.fileName) ||
    (HASHED.test(file.fileName) && hasHash(patternOf(file, output), file.fileName));
  return { url: encodeURI(file.fileName), revision: isHashed ? null : hashOf(content) };
}

/** How the bundler names such a file. Undefined if a function does. */
function patternOf(
  file: Rolldown.OutputAsset | Rolldown.OutputChunk,
  output: Rolldown.NormalizedOutputOptions,
): string | undefined {
  const chunk = file.type === 'chunk' && file.isEntry ? output.entryFileNames : output.chunkFileNames;
  const pattern = file.type === 'asset' ? output.assetFileNames : chunk;
  return typeof pattern === 'string' ? pattern : undefined;
}

/** Files that plugins emit under names of their own do not follow the pattern; they lie outside its folder. */
function hasHash(pattern: string | undefined, name: string): boolean {
  const [folder = ''] = /^[^[]*\//.exec(pattern ?? '') ?? [];
  return pattern?.includes('[hash') === true && folder !== '' && name.startsWith(folder);
}

/** The build copies them unchanged, without the plugins. */
function publicFiles(folder: string): Entry[] {
  if (folder === '' || !existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({
      url: encodeURI(path.slice(folder.length).replaceAll('\\', '/').replace(/^\/+/, '')),
      revision: hashOf(readFileSync(path)),
    }));
}

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}

function textOf(source: string | Uint8Array): string {
  return typeof source === 'string' ? source : new TextDecoder().decode(source);
}

function byUrl(one: Entry, other: Entry): number {
  return one.url < other.url ? -1 : 1;
}
