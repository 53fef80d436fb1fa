/**
 * How everything that runs is built: `npm run build` makes all of it below `dist/`, and `npm start` and `npm test` do so by
 * themselves when a source is newer than the build (`src/node/prepare.mjs`).
 *
 * | file | what it is |
 * |---|---|
 * | `node/main.js` | the Node host: one ES module, dependencies stay in node_modules |
 * | `browser/settee.js` | what a page imports (`settee`): an ES module with all it needs |
 * | `browser/settee-worker.js` | the core in a dedicated module worker |
 * | `browser/settee-sw.js` | the service worker, a classic script |
 * | `browser/settee-sw-core.js` | the core for the service worker, a classic script that it imports by itself |
 * | `browser/settee-quickjs.wasm` | the engine for functions of design documents, loaded by those two on first use |
 * | `library/sw.js`, `library/vite.js`, `library/msw.js` | `settee/sw`, `settee/vite`, `settee/msw` |
 * | `types/` | declarations, by `tsc -p src/client/tsconfig.types.json` |
 *
 * Each is one file without chunks: a page or a server that runs never looks for one that a later build replaced.
 */
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type EnvironmentOptions, minifySync, type Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import { ENGINE_PROGRAM } from './src/query-server/runtime/program.ts';

/** The oldest engines with everything Settee needs: module workers, Web Locks, private methods, static blocks. */
const browserTarget = ['chrome111', 'firefox114', 'safari16.4'];

function path(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

/** Workbox names a build for old browsers as its main one; this one does the same in half the size. */
const alias = { 'workbox-window': path('./node_modules/workbox-window/build/workbox-window.prod.mjs') };

/**
 * What a page does not need of Comlink, each from one text up to another: it calls functions of its worker and keeps the proxy that it has, so
 * it passes and releases none, and neither sets, binds nor constructs. What nothing refers to then is left out of the page.
 */
const comlinkCuts: readonly (readonly [string, string])[] = [
  ['    ["proxy", proxyTransferHandler],', '    ["throw",'],
  ['"FinalizationRegistry" in globalThis &&', 'new FinalizationRegistry('],
  ['        set(_target, prop, rawValue) {', '        apply(_target,'],
  ['            if (prop === releaseProxy) {', '            if (prop === "then") {'],
  ['            const last = path[path.length - 1];', '            const [argumentList, transferables] ='],
  ['        construct(_target, rawArgumentList) {', '    });\n    registerProxy('],
];

const trimComlink: Plugin = {
  name: 'trim-comlink',
  applyToEnvironment: ({ name }) => name === 'client',
  transform: {
    filter: { id: /comlink\.mjs$/ },
    handler: (code) => ({
      code: comlinkCuts.reduce(cutOut, code).replace('new FinalizationRegistry(', 'false && ('),
      map: null,
    }),
  },
};

function cutOut(code: string, [from, to]: readonly [string, string]): string {
  const start = code.indexOf(from);
  const end = code.indexOf(to, start);
  if (start < 0 || end < 0) throw new Error(`Comlink has changed, and has no more ${from} … ${to}: see vite.config.ts`);
  return code.slice(0, start) + code.slice(end);
}

/** The service negotiates media types alone. */
const trimNegotiator: Plugin = {
  name: 'trim-negotiator',
  applyToEnvironment: ({ config }) => config.consumer === 'client',
  load: {
    filter: { id: /negotiator\/lib\/(charset|encoding|language)\.js$/ },
    handler: () => 'module.exports = undefined;',
  },
};

/**
 * QuickJS as a file of its own beside the workers, under a name that they know. Its loader is given the bytes, and never
 * looks for them; its own way of doing so would have the file in the build a second time.
 */
const quickJsFile: Plugin = {
  name: 'quickjs-file',
  transform: {
    filter: { id: /quickjs-wasmfile-release-sync.*\.browser\.mjs$/ },
    handler: (code) => ({ code: code.replaceAll('import.meta.url', '""'), map: null }),
  },
  generateBundle() {
    if (this.environment.name !== 'worker') return;
    const source = readFileSync(path('./node_modules/@jitl/quickjs-wasmfile-release-sync/dist/emscripten-module.wasm'));
    this.emitFile({ type: 'asset', fileName: 'browser/settee-quickjs.wasm', source });
  },
};

/**
 * What runs inside of QuickJS is a text, which no minifier looks into: it comes without its comments and white space. Its
 * names stay, since documents' functions see some of them.
 */
const engineProgram: Plugin = {
  name: 'engine-program',
  applyToEnvironment: ({ config }) => config.consumer === 'client',
  load: {
    filter: { id: /query-server\/runtime\/program\.ts$/ },
    handler: () => {
      const { code, errors } = minifySync('program.js', ENGINE_PROGRAM, { compress: false, mangle: false });
      if (errors.length > 0) throw new Error(`The engine program can't be read: ${errors[0]?.message}`);
      return `export const ENGINE_PROGRAM = ${JSON.stringify(code.replace(/;\s*$/, ''))};`;
    },
  },
};

function browserFile(name: string, input: string, format: 'es' | 'iife'): EnvironmentOptions {
  return {
    consumer: 'client',
    define: { 'process.env.NODE_ENV': '"production"' },
    resolve: { noExternal: true },
    build: {
      emptyOutDir: false,
      copyPublicDir: false,
      target: browserTarget,
      sourcemap: true,
      minify: true,
      rolldownOptions: {
        input: path(input),
        preserveEntrySignatures: 'strict',
        output: { entryFileNames: `browser/${name}.js`, format, codeSplitting: false, minify: true },
      },
    },
  };
}

function libraryFile(name: string, input: string, external: readonly (string | RegExp)[]): EnvironmentOptions {
  return {
    consumer: 'server',
    resolve: { noExternal: true },
    build: {
      emptyOutDir: false,
      copyPublicDir: false,
      target: 'es2023',
      sourcemap: true,
      minify: false,
      rolldownOptions: {
        input: path(input),
        external: [...external],
        preserveEntrySignatures: 'strict',
        output: { entryFileNames: `library/${name}.js`, format: 'es', codeSplitting: false },
      },
    },
  };
}

const node: EnvironmentOptions = {
  consumer: 'server',
  build: {
    emptyOutDir: false,
    copyPublicDir: false,
    target: 'node20',
    sourcemap: true,
    minify: false,
    rolldownOptions: {
      input: path('./src/node/main.ts'),
      output: { entryFileNames: 'node/main.js', format: 'es', codeSplitting: false },
    },
  },
};

const environments: Readonly<Record<string, EnvironmentOptions>> = {
  node,
  client: browserFile('settee', './src/client/index.ts', 'es'),
  worker: browserFile('settee-worker', './src/worker/main.ts', 'es'),
  serviceWorker: browserFile('settee-sw', './sw/settee-sw.ts', 'iife'),
  serviceWorkerCore: browserFile('settee-sw-core', './sw/settee-sw-core.ts', 'iife'),
  swLibrary: libraryFile('sw', './src/sw/index.ts', []),
  viteLibrary: libraryFile('vite', './src/vite/index.ts', ['vite', /^node:/]),
  mswLibrary: libraryFile('msw', './src/msw/index.ts', ['msw']),
};

const present = Object.fromEntries(
  Object.entries(environments).filter(([, { build }]) => existsSync(String(build?.rolldownOptions?.input))),
);

export default defineConfig(({ command, mode }) => ({
  ...(command === 'build' && mode !== 'test'
    ? {
        environments: present,
        builder: {},
        resolve: { alias },
        plugins: [trimComlink, trimNegotiator, engineProgram, quickJsFile],
      }
    : {}),
  test: {
    include: ['test/{unit,property,conformance,fault}/**/*.test.ts'],
    testTimeout: 30_000,
    pool: 'forks',
  },
}));
