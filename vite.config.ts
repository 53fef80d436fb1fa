/**
 * How everything that runs is built: `npm run build` makes all of it below `dist/`, and `npm start` and `npm test` do so by
 * themselves when a source is newer than the build (`src/node/prepare.mjs`).
 *
 * | file | what it is |
 * |---|---|
 * | `node/main.js` | the Node host: one ES module, dependencies stay in node_modules |
 * | `node/opentelemetry.js` | `settee-server/opentelemetry`: spans |
 * | `node/sandbox-worker.js` | the threads in which the Node host runs functions of documents |
 * | `browser/settee.js` | what a page imports (`settee`): an ES module with all it needs |
 * | `browser/settee-database.js` | `settee/database`: a typed helper over `fetch`, for pages and Node |
 * | `browser/settee-transfer.js` | `settee/transfer`: export and import of databases |
 * | `browser/settee-worker.js` | the core in a dedicated module worker |
 * | `browser/settee-functions.js` | views, queries and functions of documents, which that worker loads on first use |
 * | `browser/settee-sandbox.js` | the workers in which that worker runs functions of documents |
 * | `browser/settee-journal.js` | the journal in files, which that worker loads if the browser has files with synchronous writes |
 * | `browser/settee-sw.js` | the service worker, a classic script |
 * | `browser/settee-sw-core.js` | the core for the service worker, a classic script that it imports when needed |
 * | `browser/settee-sw-precache.js` | what keeps the files of an app, a classic script that the service worker imports if it has a list of them |
 * | `browser/settee-quickjs.wasm` | QuickJS, which runs functions of design documents, loaded by those two on first use |
 * | `library/sw.js`, `library/vite.js`, `library/msw.js` | `settee/sw`, `settee/vite`, `settee/msw` |
 * | `library/react.js`, `library/vue.js`, `library/svelte.js`, `library/solid.js` | `settee/react` and so on: what follows a database in these frameworks |
 * | `library/tanstack.js` | `settee/tanstack`: a collection of TanStack DB |
 * | `utils/` | the administration page, and the script with which a service worker serves it (`src/packages/build/admin-page.ts`) |
 * | `types/`, `packages/` | declarations, and the package `settee-server`, by `src/packages/build/prepack.mjs` |
 *
 * None is cut into chunks: a running page or server never looks for one that a later build replaced. Only `settee-functions.js` and
 * `settee-journal.js` are parts of another file; they are refused if they are not of the same build.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { EnvironmentOptions, Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import { sandboxProgram } from './src/packages/build/sandbox-program.ts';
import { guardModule } from './src/queries/sandbox/isolates/loop-guard.ts';
import { longestFirst } from './test/support/longest-first.ts';
import { patient } from './test/support/patience.ts';

/** The oldest browsers with everything that Settee needs: module workers, Web Locks, private methods, static blocks. */
const browserTarget = ['chrome111', 'firefox114', 'safari16.4'];

function path(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}

/** The package's main file for bundlers is a build for browsers without classes and async functions. This is its build for modern ones. */
const alias = { 'workbox-window': path('./node_modules/workbox-window/build/workbox-window.prod.mjs') };

/**
 * The conditions for resolving packages for browsers. QuickJS's loader is used in its build for `workerd`, which receives the
 * WebAssembly and has no address of it: for the address in its build for browsers the bundler would emit the WebAssembly a second time. No
 * other package here has that condition.
 */
const browserConditions = ['workerd', 'module', 'browser', 'production'];

/** Emits QuickJS's WebAssembly beside the workers, under the name by which they fetch it. Its loops are guarded here, which would take them 20 ms. */
const quickJsFile: Plugin = {
  name: 'quickjs-file',
  generateBundle() {
    if (this.environment.name !== 'worker') return;
    const source = readFileSync(path('./node_modules/@jitl/quickjs-wasmfile-release-sync/dist/emscripten-module.wasm'));
    this.emitFile({
      type: 'asset',
      fileName: 'browser/settee-quickjs.wasm',
      source: guardModule(new Uint8Array(source)),
    });
  },
};

/**
 * The files that the worker loads on first use take what they share with it from a global variable, whose name only files of one build know.
 * With the import that the bundler writes they would load the worker's script a second time if its address has a query, and after an update of
 * the app one of another version.
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
    // The exports of the worker, in the order of their names, become one array; each file has its own names for its elements.
    const own = new Map(pairs.map((names) => [names.at(isEntry ? -1 : 0), names.at(isEntry ? 0 : -1)]));
    const names = `[${[...entry.exports].sort().map((name) => own.get(name) ?? '')}]`;
    const hash = createHash('sha256').update(entry.exports.join());
    for (const id of [...this.getModuleIds()].sort()) hash.update(this.getModuleInfo(id)?.code ?? '');
    const shared = `self["settee ${hash.digest('hex').slice(0, 16)}"]`;
    return {
      code: code.replace(statement, isEntry ? `${shared} = ${names};` : `const ${names} = ${shared};`),
      map: null,
    };
  },
};

/**
 * The core of `settee/msw` is that of the service worker's script, which leaves it in the global `setteeMemory`: a second copy would
 * make the package larger by a quarter.
 */
const memoryFromCore: Plugin = {
  name: 'memory-from-core',
  enforce: 'pre',
  applyToEnvironment: ({ name }) => name === 'mswLibrary',
  resolveId: (source) => {
    if (source.endsWith('/memory-service.ts')) return '\0memory-from-core';
    return source === CORE_BESIDE ? { id: source, external: true } : undefined;
  },
  load: (id) =>
    id === '\0memory-from-core'
      ? `import '${CORE_BESIDE}';\nexport const { MemoryService } = globalThis.setteeMemory;`
      : undefined,
};

/** `settee/tanstack` throws the `SetteeError` of `settee/database`, which apps compare with. */
const databaseBeside: Plugin = {
  name: 'database-beside',
  enforce: 'pre',
  applyToEnvironment: ({ name }) => name === 'tanstackLibrary',
  resolveId: (source) =>
    source.endsWith('/database-client/index.ts') ? { id: DATABASE_BESIDE, external: true } : undefined,
};

/** Databases in browsers are never verified: that is a command of the server, and 3 kB of what a page's worker loads. */
const noVerification: Plugin = {
  name: 'no-verification',
  enforce: 'pre',
  applyToEnvironment: ({ name }) => name === 'worker' || name === 'serviceWorkerCore',
  resolveId: (source) => (source.endsWith('/reading/verify.ts') ? '\0no-verification' : undefined),
  load: (id) =>
    id === '\0no-verification'
      ? "export const verifyHead = () => Promise.reject(new Error('Databases of browsers are not verified.'));"
      : undefined,
};

/** The program inside QuickJS, for all environments, and for the tests. */
const program = sandboxProgram(path('./src/queries/sandbox/runtime/main.ts'));

/** The service worker's core, as `library/msw.js` finds it. */
const CORE_BESIDE = '../browser/settee-sw-core.js';

/** The helper over `fetch`, as `library/tanstack.js` finds it. */
const DATABASE_BESIDE = '../browser/settee-database.js';

/** What a page's worker loads later, by the names of the modules that it imports. */
const DEFERRED_FILES: ReadonlyMap<string, string> = new Map([
  ['browser-functions', 'settee-functions'],
  ['browser-journal-files', 'settee-journal'],
]);

function browserFile(name: string, input: string, format: 'es' | 'iife'): EnvironmentOptions {
  return {
    consumer: 'client',
    define: { 'process.env.NODE_ENV': '"production"' },
    resolve: { noExternal: true, conditions: browserConditions },
    build: {
      emptyOutDir: false,
      copyPublicDir: false,
      target: browserTarget,
      sourcemap: 'hidden',
      minify: true,
      rolldownOptions: {
        input: path(input),
        preserveEntrySignatures: 'strict',
        output: {
          entryFileNames: `browser/${name}.js`,
          format,
          codeSplitting: false,
          minify: true,
          // For a module that neither imports nor exports anything, nothing else distinguishes it from a script.
          footer: ({ exports }) => (format === 'es' && exports.length === 0 ? 'export {};' : ''),
        },
      },
    },
  };
}

/**
 * The worker, and beside it what it loads on first use. Vite treats it as a server: it has no document into which a file could be
 * preloaded, and otherwise Vite would add code for that.
 */
function workerFiles(): EnvironmentOptions {
  const worker = browserFile('settee-worker', './src/browser/worker/main.ts', 'es');
  const { rolldownOptions } = worker.build ?? {};
  return {
    ...worker,
    consumer: 'server',
    resolve: { noExternal: true, conditions: browserConditions, mainFields: ['browser', 'module'] },
    build: {
      ...worker.build,
      emitAssets: true,
      rolldownOptions: {
        ...rolldownOptions,
        platform: 'browser',
        // The worker contains what both files need, and provides it to the other one.
        preserveEntrySignatures: false,
        output: {
          entryFileNames: 'browser/settee-worker.js',
          chunkFileNames: ({ name }) => `browser/${DEFERRED_FILES.get(name) ?? name}.js`,
          format: 'es',
          minify: true,
        },
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
      sourcemap: 'hidden',
      minify: false,
      rolldownOptions: {
        input: path(input),
        external: [...external],
        preserveEntrySignatures: 'strict',
        output: {
          entryFileNames: `library/${name}.js`,
          format: 'es',
          codeSplitting: false,
          // As readable as the sources, for developers who debug an app, except for the comments, which are a third of the download.
          comments: { jsdoc: false },
        },
      },
    },
  };
}

function nodeFile(name: string, input: string): EnvironmentOptions {
  return {
    consumer: 'server',
    build: {
      emptyOutDir: false,
      copyPublicDir: false,
      target: 'node20',
      sourcemap: 'hidden',
      minify: false,
      rolldownOptions: {
        input: path(input),
        output: { entryFileNames: `node/${name}.js`, format: 'es', codeSplitting: false },
      },
    },
  };
}

const environments: Readonly<Record<string, EnvironmentOptions>> = {
  node: nodeFile('main', './src/node/main.ts'),
  nodeOpenTelemetry: nodeFile('opentelemetry', './src/node/opentelemetry.ts'),
  nodeSandbox: nodeFile('sandbox-worker', './src/node/server/sandbox-worker.ts'),
  client: browserFile('settee', './src/browser/client/index.ts', 'es'),
  databaseClient: browserFile('settee-database', './src/packages/database-client/index.ts', 'es'),
  transfer: browserFile('settee-transfer', './src/packages/transfer/index.ts', 'es'),
  worker: workerFiles(),
  sandbox: browserFile('settee-sandbox', './src/browser/worker/sandbox-worker.ts', 'es'),
  serviceWorker: browserFile('settee-sw', './sw/settee-sw.ts', 'iife'),
  serviceWorkerPrecache: browserFile('settee-sw-precache', './src/browser/sw/precaching.ts', 'iife'),
  serviceWorkerCore: browserFile('settee-sw-core', './sw/settee-sw-core.ts', 'iife'),
  swLibrary: libraryFile('sw', './src/browser/sw/index.ts', []),
  viteLibrary: libraryFile('vite', './src/packages/vite/index.ts', ['vite', /^node:/]),
  mswLibrary: libraryFile('msw', './src/browser/msw/index.ts', ['msw']),
  reactLibrary: libraryFile('react', './src/packages/frameworks/react.ts', ['react']),
  vueLibrary: libraryFile('vue', './src/packages/frameworks/vue.ts', ['vue']),
  svelteLibrary: libraryFile('svelte', './src/packages/frameworks/svelte.ts', ['svelte/reactivity']),
  solidLibrary: libraryFile('solid', './src/packages/frameworks/solid.ts', ['solid-js']),
  tanstackLibrary: libraryFile('tanstack', './src/packages/frameworks/tanstack.ts', []),
};

const present = Object.fromEntries(
  Object.entries(environments).filter(([, { build }]) => existsSync(String(build?.rolldownOptions?.input))),
);

/** Tests that take a quarter of a minute or more. */
const longTests = [
  'docs/console',
  'core-lmdb',
  'core-postgres',
  'crash-views',
  'replication-lies',
  'core-memory',
  'http/node-server',
  'http/node-workers',
  'replication-network',
  'http/msw',
  'isolate-pool',
  'core-base-path',
  'core-fetch',
  'transfer/import-memory',
  'fault/',
  'build/packages',
  'sandbox/safety',
  'build/types',
  'property/',
];

export default defineConfig(({ command, mode }) => ({
  ...(command === 'build' && mode !== 'test'
    ? {
        environments: present,
        builder: {},
        resolve: { alias },
        plugins: [program, quickJsFile, shareByName, memoryFromCore, databaseBeside, noVerification],
      }
    : { plugins: [program] }),
  test: {
    include: ['test/{unit,property,conformance,fault}/**/*.test.ts'],
    // A busy machine slows tests down, and fails none.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: patient },
    pool: 'forks',
    // By default it is one processor less, which of two leaves one idle.
    maxWorkers: '100%',
    sequence: { sequencer: longestFirst(longTests) },
  },
}));
