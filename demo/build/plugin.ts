/** What the demo's build adds to Vite: the data, the documentation, and the list of files that the service worker keeps for use without a network. */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Plugin } from 'vite';
import { cityLines, countryLines, counts, inhabitedSquares } from './data.ts';
import { documentation } from './pages.ts';

const files: Readonly<Record<string, () => string>> = {
  'data/countries.jsonl': countryLines,
  'data/cities.jsonl': cityLines,
};

const WORLD = 'virtual:world';

/** Provides `virtual:world`, and the files with the documents. */
export function demoData(): Plugin {
  return {
    name: 'demo-data',
    resolveId: (id) => (id === WORLD ? `\0${WORLD}` : undefined),
    load: (id) =>
      id === `\0${WORLD}`
        ? `export const squares = ${JSON.stringify(inhabitedSquares())}; export const counts = ${JSON.stringify(counts)};`
        : undefined,
    configureServer: ({ middlewares }) => {
      middlewares.use(({ url = '' }, response, next) => {
        const make = files[url.slice(1)];
        if (make) response.setHeader('Content-Type', 'application/jsonl').end(make());
        else next();
      });
    },
    generateBundle() {
      for (const [fileName, make] of Object.entries(files)) this.emitFile({ type: 'asset', fileName, source: make() });
    },
  };
}

const ABOUT = 'virtual:about';

/** Provides `virtual:about`, and the pages of the documentation. */
export function demoDocumentation(): Plugin {
  return {
    name: 'demo-documentation',
    resolveId: (id) => (id === ABOUT ? `\0${ABOUT}` : undefined),
    load: (id) =>
      id === `\0${ABOUT}` ? `export const repository = ${JSON.stringify(repositoryAddress())};` : undefined,
    configureServer: ({ middlewares }) => {
      middlewares.use(({ url = '' }, response, next) => {
        const file = url.startsWith('/docs/') ? documentation().get(url.slice(1).replace(/[?#].*/, '')) : undefined;
        if (file === undefined) next();
        else response.setHeader('Content-Type', url.endsWith('.css') ? 'text/css' : 'text/html').end(file);
      });
    },
    generateBundle() {
      for (const [fileName, source] of documentation()) this.emitFile({ type: 'asset', fileName, source });
    },
  };
}

/** As package.json says, for a browser; undefined if it says nothing. */
function repositoryAddress(): string | undefined {
  const { repository } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'));
  const address: unknown = typeof repository === 'object' && repository !== null ? repository.url : repository;
  return typeof address === 'string' ? address.replace(/^git\+/, '').replace(/\.git$/, '') : undefined;
}

/**
 * The data, which the database keeps; the service workers with their scripts, which the browser keeps by itself; and pictures, which only the
 * documentation shows.
 */
const NOT_KEPT = /^(sw\.js$|data\/|settee-(sw|utils\/settee-sw)|docs\/docs\/pictures\/)|\.map$/;

/** Files of other pages than the demo's own. They are kept once the demo rests: so those pages open without a network also the first time. */
const KEPT_LATER = /^\/(docs|settee-utils)\//;

/** Replaces `self.__SHELL__` in `sw.js` with the addresses of the files that are kept, at once and later, and a version that changes with any of them. */
export function shellList(publicFolder: string): Plugin {
  return {
    name: 'demo-shell',
    apply: 'build',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      handler(_options, bundle) {
        const worker = bundle['sw.js'];
        if (worker?.type !== 'chunk') return this.error('the service worker sw.js was not built');
        const hash = createHash('sha256');
        const shell: string[] = [];
        for (const [name, file] of Object.entries(bundle)) {
          if (NOT_KEPT.test(name)) continue;
          hash.update(name).update(file.type === 'chunk' ? file.code : file.source);
          shell.push(name === 'index.html' ? '/' : `/${name}`);
        }
        for (const name of readdirSync(publicFolder)) {
          hash.update(name).update(readFileSync(join(publicFolder, name)));
          shell.push(`/${name}`);
        }
        const list = {
          version: hash.digest('hex').slice(0, 16),
          files: shell.filter((file) => !KEPT_LATER.test(file)).sort(),
          later: shell.filter((file) => KEPT_LATER.test(file)).sort(),
        };
        worker.code = worker.code.replace('self.__SHELL__', JSON.stringify(list));
      },
    },
  };
}
