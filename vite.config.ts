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
 * | `browser/settee-sw.js` | the service worker, a classic script |
 * | `browser/settee-sw-core.js` | the core for the service worker, a classic script that it imports by itself |
 * | `browser/settee-quickjs.wasm` | the engine for functions of design documents, loaded by those two on first use |
 * | `library/sw.js`, `library/vite.js`, `library/msw.js` | `settee/sw`, `settee/vite`, `settee/msw` |
 * | `types/` | declarations, by `tsc -p src/client/tsconfig.types.json` |
 *
 * None is cut into chunks: a page or a server that runs never looks for one that a later build replaced. `settee-functions.js` alone is
 * a part of another file; it is refused where it is not of the same build.
 */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { minify } from 'terser';
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
 * it passes and releases none, sends no errors, and neither gets, sets, binds nor constructs. What nothing refers to then is left out of the page.
 */
const comlinkCuts: readonly Cut[] = [
  ['    ["proxy", proxyTransferHandler],', '    ["throw",'],
  ['"FinalizationRegistry" in globalThis &&', 'new FinalizationRegistry('],
  ['        set(_target, prop, rawValue) {', '        apply(_target,'],
  ['    canHandle: (value) => isObject(value) && throwMarker in value,', '    deserialize(serialized) {'],
  ['    for (const [name, handler] of transferHandlers) {', '    return [\n        {\n            type: "RAW"'],
  ['    registerProxy(proxy, ep);', '    return proxy;'],
  ['            throwIfProxyReleased(isProxyReleased);', '            if (prop === "then") {'],
  ['            if (prop === "then") {', '            return createProxy(ep, pendingListeners, [...path'],
  ['        transferCache.get(value) ||', ' [],\n'],
  [', myFlat(processed.map(', '];\n}\nconst transferCache'],
  ['        if (ep.start) {', '        ep.postMessage(Object.assign({ id }'],
  ['new Array(4)', 'Math.floor('],
  [')\n        .join("-")', ';\n}\n\nexport'],
  ['            throwIfProxyReleased(isProxyReleased);', '            const [argumentList, transferables] ='],
  ['        construct(_target, rawArgumentList) {', '    });\n    return proxy;'],
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

/** Of Workbox a page registers, and hears of a version that waits; the rest it asks of the registration itself. */
const workboxCuts: readonly Cut[] = [
  ['try{self["workbox:window', 'function t(t,s)'],
  ['try{self["workbox:core', 'class s{'],
  ['removeEventListener(t,s){', 'dispatchEvent(t){'],
  ['const n={type:"SKIP_WAITING"}', 'class a extends'],
  [',this.Vt=t=>{', ',this.Ot=t,'],
  [',navigator.serviceWorker.addEventListener("message"', '}async register('],
  ['t||"complete"===document.readyState', 'this.Yt=this.Zt()'],
  ['navigator.serviceWorker.addEventListener("controllerchange"', 'this.Nt}async update('],
  ['async update(){', 'Zt(){'],
  // Nobody waits for its promises or looks into its events, and all versions are told of alike, whoever they come from.
  ['class s{', 'class i{'],
  ['this._t={},', 'this.Kt='],
  ['this.Lt>0||', 's.addEventListener("statechange"'],
  [',n=i===this.zt,', ';!n&&'],
  ['!n&&this.Jt', '"installed"===e?'],
  [',a))}),200', '))}),200'],
  [',n||this.Tt.resolve(i)', ')},'],
  [',this._t=i', '}async register('],
  ['{immediate:t=!1}', '){this.Yt='],
  ['this.Ft=this.Yt,', 'this.Yt.addEventListener('],
  ['(this.Ft=s,Promise', 'Promise.resolve().then('],
  [',{sw:s,was', '))})).then('],
  ['.then((()=>{}))', ',this.Ft&&'],
  [',this.Ft&&(this.Ct', ',this.Nt.addEventListener('],
  [',this._t)', ');return'],
  ['this.Mt=performance', 't}catch'],
  ['try{const t=await', 'const t=await'],
  ['}catch(t){throw t}', '}}export'],
  [',Object.assign(this', '}}class a extends'],
  ['t.target=this;', 'const s=this.Wt('],
  // Both addresses are absolute.
  ['const{href:i}=location;', '}class h{', 'return t===s'],
];

const trimWorkbox: Plugin = {
  name: 'trim-workbox',
  applyToEnvironment: ({ name }) => name === 'client',
  transform: {
    filter: { id: /workbox-window\.prod\.mjs$/ },
    handler: (code) => ({ code: workboxCuts.reduce(cutOut, code), map: null }),
  },
};

/** What a worker does not need of Comlink: it is called, and gives nothing that could be called in turn. */
const exposeCuts: readonly Cut[] = [
  ['    ["proxy", proxyTransferHandler],', '    ["throw",'],
  ['                case "GET" /*', '                case "APPLY" /*'],
  ['                case "CONSTRUCT" /*', '                default:'],
  ['            if (type === "RELEASE" /*', '        })\n            .catch((error) => {'],
  ['const proxyFinalizers =', 'function registerProxy('],
];

/** Takes out what begins with the first text, up to the second; the third, if there is one, takes its place. */
type Cut = readonly [from: string, to: string, instead?: string];

function cutOut(code: string, [from, to, instead = '']: Cut): string {
  const start = code.indexOf(from);
  const end = code.indexOf(to, start);
  if (start < 0 || end < 0)
    throw new Error(`A package has changed, and has no more ${from} … ${to}: see vite.config.ts`);
  return code.slice(0, start) + instead + code.slice(end);
}

type Edit = (code: string) => string;
type Applies = NonNullable<Plugin['applyToEnvironment']>;

function isForBrowsers({ name, config }: Parameters<Applies>[0]): boolean {
  return name === 'worker' || config.consumer === 'client';
}

/** Of idb what makes cursors iterators. */
const idbCuts: readonly Cut[] = [['const advanceMethodProps = ', 'export {']];

/**
 * Of hash-wasm what a browser that can run it has no need of: other runtimes' ways, other digests' rules, and a hasher's state stored and
 * loaded. Nothing waits in line either: at worst two who come first make two engines.
 */
const hashCuts: readonly Cut[] = [
  ['class Mutex {', 'function intArrayToString('],
  // What is hashed are bytes.
  ['const getUInt8Buffer = nodeBuffer', 'function encodeBase64(', 'const getUInt8Buffer = (bytes) => bytes;\n'],
  [
    '    const bufferLength = getDecode',
    '}\n\nconst MAX_HEAP',
    '    return Uint8Array.from(atob(data), (char) => char.charCodeAt(0));\n',
  ],
  ['        if (typeof WebAssembly ===', '        const writeMemory ='],
  ['        const writeMemory =', '        const getStateSize ='],
  ['wasmMutex.dispatch(', '() => __awaiter(', '('],
  ['        }));\n        const setupInterface', '\n        const setupInterface', '        }))();'],
  ['            if (!initialized) {\n                throw new Error("update()', '            const Uint8Buffer'],
  ['            if (!initialized) {\n                throw new Error("digest()', '            initialized = false;'],
  ['        const save = () => {', '        const isDataShort ='],
  ['        switch (binary.name) {', '        yield setupInterface'],
  ['            getMemory,', '            init,'],
  ['            save,\n', '            hashLength,'],
  ['    function adopt(value) {', '}\n', '    return generator();\n'],
];

/** It makes a mutex for each of its digests, and no cut left one in use. Browsers that can run it can wait by themselves. */
function modernized(code: string): string {
  return code
    .replaceAll('new Mutex()', 'null')
    .replaceAll('function* () {', 'async () => {')
    .replaceAll('yield ', 'await ');
}

const trimPackages: readonly Plugin[] = [
  trim(/comlink\.mjs$/, exposeCuts, ({ name }) => name === 'worker'),
  trim(/idb\/build\/index\.js$/, idbCuts, isForBrowsers),
  trim(/hash-wasm\/dist\/index\.esm\.js$/, hashCuts, isForBrowsers, modernized),
];

function trim(file: RegExp, cuts: readonly Cut[], applyToEnvironment: Applies, finish: Edit = String): Plugin {
  return {
    name: `trim ${file.source}`,
    applyToEnvironment,
    transform: { filter: { id: file }, handler: (code) => ({ code: finish(cuts.reduce(cutOut, code)), map: null }) },
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
  renderChunk(code, { isEntry, fileName }) {
    const pattern = isEntry ? /^export \{([^}]*)\};$/m : /^import \{([^}]*)\} from "\.\/settee-worker\.js";$/m;
    const [statement, list] = pattern.exec(code) ?? [];
    if (statement === undefined) throw new Error(`${fileName} shares nothing with the worker: see vite.config.ts`);
    const pairs = (list ?? '').split(',').map((names) => names.trim().split(' as '));
    // Each file has names of its own on its side, and the same on the side of the other one. In their order things are passed.
    const shared = pairs.map((names) => ({ own: names.at(isEntry ? 0 : -1), other: names.at(isEntry ? -1 : 0) ?? '' }));
    shared.sort((left, right) => (left.other < right.other ? -1 : 1));
    const hash = createHash('sha256').update(shared.map(({ other }) => other).join());
    for (const id of [...this.getModuleIds()].sort()) hash.update(this.getModuleInfo(id)?.code ?? '');
    const place = `self["settee ${hash.digest('hex').slice(0, 16)}"]`;
    const names = `[${shared.map(({ own }) => own).join()}]`;
    return {
      code: code.replace(statement, isEntry ? `${place} = ${names};` : `const ${names} = ${place};`),
      map: null,
    };
  },
};

/**
 * What runs inside of QuickJS is a text, which no minifier looks into: it comes without its comments and white space. Its
 * names stay, since documents' functions see some of them.
 */
const engineProgram: Plugin = {
  name: 'engine-program',
  applyToEnvironment: isForBrowsers,
  load: {
    filter: { id: /query-server\/runtime\/program\.ts$/ },
    handler: () => {
      const { code, errors } = minifySync('program.js', ENGINE_PROGRAM, { compress: false, mangle: false });
      if (errors.length > 0) throw new Error(`The engine program can't be read: ${errors[0]?.message}`);
      return `export const ENGINE_PROGRAM = ${JSON.stringify(code.replace(/;\s*$/, ''))};`;
    },
  },
};

/** What pages load goes through the bundler's own minifier twice, and in between through Terser, which takes another fortieth off it. */
const minifyAgain: Plugin = {
  name: 'minify-again',
  applyToEnvironment: isForBrowsers,
  async generateBundle(_options, bundle) {
    const module = !this.environment.name.startsWith('serviceWorker');
    for (const chunk of Object.values(bundle)) {
      const map = bundle[`${chunk.fileName}.map`];
      if (chunk.type !== 'chunk' || map?.type !== 'asset') continue;
      const sourceMap = { content: String(map.source) };
      const { code = '', map: inputMap } = await minify(chunk.code, {
        module,
        ecma: 2020,
        compress: { keep_fargs: false },
        sourceMap,
      });
      const last = minifySync(chunk.fileName, code, {
        compress: { target: browserTarget },
        module,
        sourcemap: true,
        inputMap: JSON.parse(String(inputMap)),
      });
      if (last.errors.length > 0 || last.map === undefined)
        throw new Error(`${chunk.fileName}: ${last.errors[0]?.message}`);
      chunk.code = `${last.code}\n//# sourceMappingURL=${basename(map.fileName)}`;
      map.source = JSON.stringify(last.map);
    }
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
          chunkFileNames: ({ name }) => `browser/${name === 'browser-functions' ? 'settee-functions' : name}.js`,
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
        plugins: [trimComlink, trimWorkbox, ...trimPackages, engineProgram, quickJsFile, shareByName, minifyAgain],
      }
    : {}),
  test: {
    include: ['test/{unit,property,conformance,fault}/**/*.test.ts'],
    testTimeout: 30_000,
    pool: 'forks',
    // One processor less is the default, of two that leaves one idle.
    maxWorkers: '100%',
  },
}));
