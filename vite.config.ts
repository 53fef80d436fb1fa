/**
 * How everything that runs is built: `npm run build` makes all of it below `dist/`, and `npm start` and `npm test` do so by
 * themselves when a source is newer than the build (`src/node/prepare.mjs`).
 *
 * | file | what it is |
 * |---|---|
 * | `node/main.js` | the Node host: one ES module, dependencies stay in node_modules |
 * | `browser/settee.js` | what a page imports (`settee`): an ES module with all it needs |
 * | `browser/settee-worker.js` | the core in a dedicated module worker |
 * | `browser/settee-functions.js` | functions of documents, queries and what else few requests need, which that worker loads on first use |
 * | `browser/settee-journal.js` | the journal in files, which that worker loads where the browser has such as take a write at once |
 * | `browser/settee-sw.js` | the service worker, a classic script |
 * | `browser/settee-sw-core.js` | the core for the service worker, a classic script that it imports by itself |
 * | `browser/settee-quickjs.wasm` | the engine for functions of design documents, loaded by those two on first use |
 * | `library/sw.js`, `library/vite.js`, `library/msw.js` | `settee/sw`, `settee/vite`, `settee/msw` |
 * | `types/` | declarations, by `tsc -p src/client/tsconfig.types.json` |
 *
 * None is cut into chunks: a page or a server that runs never looks for one that a later build replaced. `settee-functions.js` and
 * `settee-journal.js` alone are parts of another file; they are refused where they are not of the same build.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { minify } from 'terser';
import { type EnvironmentOptions, minifySync, type Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import {
  trimComlinkOfPage,
  trimComlinkOfWorker,
  trimHashWasm,
  trimIdb,
  trimWorkbox,
} from './src/build/package-cuts.ts';
import { sandboxProgram } from './src/build/sandbox-program.ts';

/** The oldest engines with everything Settee needs: module workers, Web Locks, private methods, static blocks. */
const browserTarget = ['chrome111', 'firefox114', 'safari16.4'];

function path(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

/** Workbox names a build for old browsers as its main one; this one does the same in half the size. */
const alias = { 'workbox-window': path('./node_modules/workbox-window/build/workbox-window.prod.mjs') };

type Applies = NonNullable<Plugin['applyToEnvironment']>;

function isForBrowsers({ name, config }: Parameters<Applies>[0]): boolean {
  return name === 'worker' || config.consumer === 'client';
}

/** What each of these packages does not need, in the environments in which it is the same for all. */
const trimPackages: readonly Plugin[] = [
  trim(/comlink\.mjs$/, trimComlinkOfPage, ({ name }) => name === 'client'),
  trim(/comlink\.mjs$/, trimComlinkOfWorker, ({ name }) => name === 'worker'),
  trim(/workbox-window\.prod\.mjs$/, trimWorkbox, ({ name }) => name === 'client'),
  trim(/idb\/build\/index\.js$/, trimIdb, isForBrowsers),
  trim(/hash-wasm\/dist\/index\.esm\.js$/, trimHashWasm, isForBrowsers),
];

function trim(file: RegExp, edit: (code: string) => string, applyToEnvironment: Applies): Plugin {
  return {
    name: `trim ${file.source}`,
    applyToEnvironment,
    transform: { filter: { id: file }, handler: (code) => ({ code: edit(code), map: null }) },
  };
}

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
 * What is loaded on first use takes what it shares with the worker from a global, under a name that only files of one build know. By
 * an import it would get a second worker, where the first one's address has a query, and after an update functions of another version.
 */
const shareByName: Plugin = {
  name: 'share-by-name',
  applyToEnvironment: ({ name }) => name === 'worker',
  renderChunk(code, { isEntry, fileName }, _options, { chunks }) {
    const pattern = isEntry ? /^export \{([^}]*)\};$/m : /^import \{([^}]*)\} from "\.\/settee-worker\.js";$/m;
    const [statement, list] = pattern.exec(code) ?? [];
    const entry = Object.values(chunks).find((chunk) => chunk.isEntry);
    if (statement === undefined || entry === undefined) {
      throw new Error(`${fileName} shares nothing with the worker: see vite.config.ts`);
    }
    const pairs = (list ?? '').split(',').map((names) => names.trim().split(' as '));
    // Each file has names of its own on its side, and the worker's exports on the other. In the order of these things are passed.
    const own = new Map(pairs.map((names) => [names.at(isEntry ? -1 : 0), names.at(isEntry ? 0 : -1)]));
    const names = `[${[...entry.exports].sort().map((name) => own.get(name) ?? '')}]`;
    const hash = createHash('sha256').update(entry.exports.join());
    for (const id of [...this.getModuleIds()].sort()) hash.update(this.getModuleInfo(id)?.code ?? '');
    const place = `self["settee ${hash.digest('hex').slice(0, 16)}"]`;
    return {
      code: code.replace(statement, isEntry ? `${place} = ${names};` : `const ${names} = ${place};`),
      map: null,
    };
  },
};

/** What runs inside of QuickJS, for all environments, and for the tests. */
const program = sandboxProgram(path('./src/query-server/runtime/main.ts'));

/** What pages load goes through Terser and the bundler's own minifier in turn: each makes smaller what the other one leaves. */
const minifyAgain: Plugin = {
  name: 'minify-again',
  applyToEnvironment: isForBrowsers,
  async generateBundle(_options, bundle) {
    const module = !this.environment.name.startsWith('serviceWorker');
    for (const chunk of Object.values(bundle)) {
      const map = bundle[`${chunk.fileName}.map`];
      if (chunk.type !== 'chunk' || map?.type !== 'asset') continue;
      const once = await minifyOnce({ code: chunk.code, map: String(map.source), module });
      const { code, map: lastMap } = await minifyOnce({ ...once, module });
      chunk.code = `${code}\n//# sourceMappingURL=${basename(map.fileName)}`;
      map.source = lastMap;
    }
  },
};

interface Minified {
  readonly code: string;
  /** JSON text. */
  readonly map: string;
}

async function minifyOnce({ code, map, module }: Minified & { readonly module: boolean }): Promise<Minified> {
  const first = await minify(code, {
    module,
    ecma: 2020,
    compress: { keep_fargs: false },
    sourceMap: { content: map },
  });
  const last = minifySync('chunk.js', first.code ?? '', {
    compress: { target: browserTarget },
    module,
    sourcemap: true,
    inputMap: JSON.parse(String(first.map)),
  });
  if (last.errors.length > 0 || last.map === undefined)
    throw new Error(`The minifier fails: ${last.errors[0]?.message}`);
  return { code: last.code, map: JSON.stringify(last.map) };
}

/** What a page's worker loads later, by the names of the modules that it imports. */
const LATER_FILES: ReadonlyMap<string, string> = new Map([
  ['browser-functions', 'settee-functions'],
  ['browser-journal-files', 'settee-journal'],
]);

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
        // Minifying twice is what takes long, and nothing to warn of.
        checks: { pluginTimings: false },
        preserveEntrySignatures: 'strict',
        output: { entryFileNames: `browser/${name}.js`, format, codeSplitting: false, minify: true },
      },
    },
  };
}

/**
 * The worker, and beside it what it loads on first use. For Vite it is a server: it has no document into which a file could be
 * preloaded, and Vite would else add what does that.
 */
function workerFiles(): EnvironmentOptions {
  const worker = browserFile('settee-worker', './src/worker/main.ts', 'es');
  const { rolldownOptions } = worker.build ?? {};
  return {
    ...worker,
    consumer: 'server',
    resolve: { noExternal: true, conditions: ['module', 'browser', 'production'], mainFields: ['browser', 'module'] },
    build: {
      ...worker.build,
      emitAssets: true,
      rolldownOptions: {
        ...rolldownOptions,
        platform: 'browser',
        // What both files need is the worker's, and it has it for the other one.
        preserveEntrySignatures: false,
        output: {
          entryFileNames: 'browser/settee-worker.js',
          chunkFileNames: ({ name }) => `browser/${LATER_FILES.get(name) ?? name}.js`,
          format: 'es',
          minify: true,
        },
      },
    },
  };
}

function libraryFile(
  name: string,
  input: string,
  external: readonly (string | RegExp)[],
  resolve: EnvironmentOptions['resolve'] = {},
): EnvironmentOptions {
  return {
    consumer: 'server',
    resolve: { noExternal: true, ...resolve },
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
  worker: workerFiles(),
  serviceWorker: browserFile('settee-sw', './sw/settee-sw.ts', 'iife'),
  serviceWorkerCore: browserFile('settee-sw-core', './sw/settee-sw-core.ts', 'iife'),
  swLibrary: libraryFile('sw', './src/sw/index.ts', []),
  viteLibrary: libraryFile('vite', './src/vite/index.ts', ['vite', /^node:/]),
  // Pages are bundled with it as well, and what QuickJS has for Node names modules that their bundlers don't find.
  mswLibrary: libraryFile('msw', './src/msw/index.ts', ['msw'], { conditions: ['module', 'browser', 'production'] }),
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
        plugins: [program, ...trimPackages, quickJsFile, shareByName, minifyAgain],
      }
    : { plugins: [program] }),
  test: {
    include: ['test/{unit,property,conformance,fault}/**/*.test.ts'],
    testTimeout: 30_000,
    hookTimeout: 60_000,
    pool: 'forks',
    // One processor less is the default, of two that leaves one idle.
    maxWorkers: '100%',
  },
}));
