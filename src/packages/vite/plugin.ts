/** Adds Settee's files to an app that Vite serves and builds, and explains requests that miss the service worker. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { HtmlTagDescriptor, IndexHtmlTransformContext, Plugin } from 'vite';
import type { UtilsFiles } from './utils.ts';

export interface FileOptions {
  /** What the app passes to `start`. Default: `/db/`. */
  readonly base?: string;
}

const SERVICE_WORKER = 'settee-sw.js';

/** The workers load it on first use. */
const WASM = 'settee-quickjs.wasm';
/** They are in the app's root, because a service worker controls what is below it, and keep their names, because its address never changes. */
const ROOT_FILES = [SERVICE_WORKER, 'settee-sw-core.js', WASM];
/** The page's worker and the files that it loads. In a build they lie in a folder that is named after their content. */
const WORKER_FILES = ['settee-worker.js', 'settee-functions.js', 'settee-sandbox.js', 'settee-journal.js', WASM];
const ALL_FILES = [...ROOT_FILES, ...WORKER_FILES];

const MISDIRECTED = `${JSON.stringify({
  error: 'misdirected_request',
  reason:
    'This request reached the server, but only the service worker in the browser answers at this address. Wait for start() before the first request, and pass start() the same base as the plugin. A synchronous XMLHttpRequest, and in Firefox a fetch with keepalive or a beacon, never reaches a service worker: use settee.fetch instead.',
})}\n`;

const NO_PAGE = `${JSON.stringify({
  error: 'misdirected_request',
  reason:
    'This request reached the server, but only the service worker in the browser has the administration page. Open the app in this browser first, then this address again.',
})}\n`;

const JSON_TYPE = 'application/json';

type Next = () => void;

/** `folder` is where the built files are. With `utils` the app has the administration page. */
export function createPlugin({ base = '/db/' }: FileOptions, folder: string, utils?: UtilsFiles): Plugin {
  let root = '/';
  let workerFolder = '';
  const read = (file: string): Buffer => {
    if (utils?.names.includes(file)) return utils.read(file);
    const content = readFileSync(join(folder, file));
    return file === SERVICE_WORKER && utils ? Buffer.concat([Buffer.from(utils.head()), content]) : content;
  };
  const databases = databasesOf(base);
  const serveFile = ({ url = '' }: IncomingMessage, response: ServerResponse, next: Next): void => {
    const path = pathOf(url);
    const file = [...ALL_FILES, ...(utils?.names ?? [])].find((name) => path === root + name);
    if (file) send(response, 200, typeOf(file), read(file));
    else next();
  };
  const explain = ({ url = '' }: IncomingMessage, response: ServerResponse, next: Next): void => {
    const path = `${pathOf(url)}/`;
    if (databases === undefined || !path.startsWith(databases)) next();
    else send(response, 421, JSON_TYPE, utils && path.startsWith(`${databases}_utils/`) ? NO_PAGE : MISDIRECTED);
  };
  return {
    name: 'settee',
    config: (config, { command }) => {
      root = rootOf(config.base ?? '/', command === 'build');
      if (command === 'build') workerFolder = `${config.build?.assetsDir ?? 'assets'}/settee-${hashOf(read)}/`;
      return {
        define: {
          __SETTEE_ROOT__: JSON.stringify(root),
          __SETTEE_WORKER_FOLDER__: JSON.stringify(workerFolder),
        },
        // If Vite prebundled it, it would miss the lines above.
        optimizeDeps: { exclude: ['settee'] },
      };
    },
    configureServer: ({ middlewares }) => {
      middlewares.use(serveFile).use(explain);
    },
    configurePreviewServer: ({ middlewares }) => {
      middlewares.use(explain);
    },
    transformIndexHtml: {
      order: 'post',
      handler: (_html, page) => (startsAtOnce(page, workerFolder) ? [preloading(root, workerFolder, page.path)] : []),
    },
    generateBundle() {
      if (this.environment.config.consumer !== 'client') return;
      for (const fileName of ROOT_FILES) this.emitFile({ type: 'asset', fileName, source: read(fileName) });
      for (const file of WORKER_FILES)
        this.emitFile({ type: 'asset', fileName: workerFolder + file, source: read(file) });
      for (const fileName of utils?.names ?? []) this.emitFile({ type: 'asset', fileName, source: read(fileName) });
    },
  };
}

/** Whether the page's script is built with the client, or imports it other than by `import()`. The client contains the folder's name. */
function startsAtOnce({ bundle, chunk }: IndexHtmlTransformContext, workerFolder: string): boolean {
  if (bundle === undefined || chunk === undefined) return false;
  const chunks = new Set([chunk]);
  for (const { code, imports } of chunks) {
    if (code.includes(workerFolder)) return true;
    for (const name of imports) {
      const imported = bundle[name];
      if (imported?.type === 'chunk') chunks.add(imported);
    }
  }
  return false;
}

/**
 * Browsers that support the tag load the worker while they load the page's script, instead of after it: the worker then comes from their cache.
 * With `as: 'worker'` Chromium warns of an invalid value, and of a file that was not used.
 */
function preloading(root: string, workerFolder: string, page: string): HtmlTagDescriptor {
  const toRoot = root === './' ? '../'.repeat(page.split('/').length - 2) || './' : root;
  const href = `${toRoot}${workerFolder}settee-worker.js`;
  return { tag: 'link', attrs: { rel: 'modulepreload', href }, injectTo: 'head' };
}

/** A hash of everything in the folder of the page's worker: it may be cached forever under an address that contains this. */
function hashOf(read: (file: string) => Buffer): string {
  const hash = createHash('sha256');
  for (const file of WORKER_FILES) hash.update(read(file));
  return hash.digest('hex').slice(0, 8);
}

function typeOf(file: string): string {
  if (file === WASM) return 'application/wasm';
  return file.endsWith('.css') ? 'text/css' : 'text/javascript';
}

function send(response: ServerResponse, status: number, type: string, body: string | Buffer): void {
  response.writeHead(status, { 'Content-Type': type, 'Cache-Control': 'no-cache' });
  response.end(body);
}

/**
 * Where Vite serves the app: it adds the slash at the end of its `base`, and serves a relative one from `/`, except in a build. It may
 * be an address on another host, which can't provide workers; then the files are expected in the page's own root.
 */
function rootOf(base: string, isBuild: boolean): string {
  if (isBuild && (base === '' || base === './')) return './';
  const { host, pathname } = new URL(base, 'http://localhost');
  return host === 'localhost' ? pathname.replace(/\/?$/, '/') : '/';
}

/** The path of the app's own origin below which the service worker answers, as requests name it; undefined if it is on another. */
function databasesOf(base: string): string | undefined {
  const { host, pathname } = new URL(base, 'http://localhost');
  return host === 'localhost' && base.startsWith('/') ? pathname.replace(/\/?$/, '/') : undefined;
}

/** The target of a request may be an invalid URL. */
function pathOf(url: string): string {
  return url.replace(/\?.*$/s, '');
}
