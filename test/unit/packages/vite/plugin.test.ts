import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, createServer, type InlineConfig, preview } from 'vite';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { settee } from '../../../../src/packages/vite/index.ts';
import { createPlugin } from '../../../../src/packages/vite/plugin.ts';
import { openUtils } from '../../../../src/packages/vite/utils.ts';

const repository = join(import.meta.dirname, '../../../..');
const files = [
  'settee-functions.js',
  'settee-journal.js',
  'settee-sandbox.js',
  'settee-sw-core.js',
  'settee-sw.js',
  'settee-worker.js',
];
const wasm = 'settee-quickjs.wasm';

/** A tiny app, with settee installed as npm would link it, and stand-ins for the built files. */
let app = '';
const open: { close(): Promise<void> }[] = [];

beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), 'settee-vite-'));
  await mkdir(join(app, 'node_modules/settee/dist/browser'), { recursive: true });
  await mkdir(join(app, 'files'));
  await writeFile(join(app, 'package.json'), '{"type": "module"}');
  await writeFile(join(app, 'index.html'), '<!doctype html><script type="module" src="/main.js"></script>');
  await writeFile(join(app, 'main.js'), "import { root, folder } from 'settee';\nconsole.log(root, folder);\n");
  const manifest = { name: 'settee', type: 'module', exports: './dist/browser/settee.js' };
  await writeFile(join(app, 'node_modules/settee/package.json'), JSON.stringify(manifest));
  await writeFile(
    join(app, 'node_modules/settee/dist/browser/settee.js'),
    "export const root = typeof __SETTEE_ROOT__ === 'string' ? __SETTEE_ROOT__ : 'unknown';\n" +
      "export const folder = typeof __SETTEE_WORKER_FOLDER__ === 'string' ? __SETTEE_WORKER_FOLDER__ : 'unknown';\n",
  );
  for (const file of files) {
    await writeFile(join(app, 'files', file), `/* ${file} */\n`);
  }
  await mkdir(join(app, 'page/assets'), { recursive: true });
  for (const file of ['index.html', 'settee-sw-utils.js', 'assets/main-1.js', 'assets/main-1.css']) {
    await writeFile(join(app, 'page', file), `/* ${file} */\n`);
  }
  await writeFile(join(app, 'files', wasm), Uint8Array.of(0, 0x61, 0x73, 0x6d, 0xff));
  await symlink(join(repository, 'node_modules/vite'), join(app, 'node_modules/vite'), 'junction');
});

afterAll(() => rm(app, { recursive: true }));

afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

function configOf(base: string, options: { base?: string } = {}): InlineConfig {
  return {
    configFile: false,
    root: app,
    base,
    logLevel: 'silent',
    cacheDir: join(app, '.vite'),
    server: { host: '127.0.0.1', port: 0, watch: null },
    preview: { host: '127.0.0.1', port: 0 },
    plugins: [createPlugin(options, join(app, 'files'))],
  };
}

async function serve(config: InlineConfig): Promise<string> {
  const server = await createServer(config);
  open.push(server);
  await server.listen();
  return addressOf(server.httpServer?.address());
}

function addressOf(address: string | AddressInfo | null | undefined): string {
  if (typeof address !== 'object' || address === null) throw new Error('The server has no port');
  return `http://127.0.0.1:${address.port}`;
}

/** The name of the folder with the worker's files. */
async function workerFolderOf(outDir: string, assets = 'assets'): Promise<string> {
  const folders = (await readdir(join(outDir, assets))).filter((name) => name.startsWith('settee-'));
  return folders.join(', ');
}

/** That of the app. */
async function codeIn(outDir: string): Promise<string> {
  const assets = (await readdir(join(outDir, 'assets'))).filter((name) => name.endsWith('.js'));
  return (await Promise.all(assets.map((name) => readFile(join(outDir, 'assets', name), 'utf8')))).join('');
}

describe('the dev server', () => {
  test.for([
    ['/', '/'],
    ['/app/', '/app/'],
    ['/app', '/app/'],
    ['/où/', '/o%C3%B9/'],
    ['./', '/'],
    ['', '/'],
    ['https://files.example.com/', '/'],
  ] as const)('serves the files below the base of the app, "%s"', async ([base, root]) => {
    const origin = await serve(configOf(base));
    for (const file of files) {
      const response = await fetch(`${origin}${root}${file}?base=/db/`);
      expect(response.status).toBe(200);
      expect(response.headers.get('content-type')).toBe('text/javascript');
      expect(response.headers.get('cache-control')).toBe('no-cache');
      expect(await response.text()).toContain(`/* ${file} */`);
    }
    const response = await fetch(`${origin}${root}${wasm}`);
    expect(response.headers.get('content-type')).toBe('application/wasm');
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(Uint8Array.of(0, 0x61, 0x73, 0x6d, 0xff));
  });

  test('answers 421 with the reason below the base of the database, and nowhere else', async () => {
    const origin = await serve(configOf('/', { base: '/data' }));
    for (const path of ['/data', '/data/', '/data/notes/a?rev=1']) {
      const response = await fetch(origin + path, { method: 'PUT', body: '{}' });
      expect(response.status).toBe(421);
      expect(await response.json()).toEqual({
        error: 'misdirected_request',
        reason: expect.stringContaining('settee.fetch'),
      });
    }
    expect((await fetch(`${origin}/database`)).status).not.toBe(421);
    expect((await fetch(`${origin}/db/`)).status).not.toBe(421);
  });

  test('recognizes an encoded base as browsers encode it', async () => {
    const origin = await serve(configOf('/', { base: '/où est/' }));
    expect((await fetch(`${origin}/où est/notes`)).status).toBe(421);
    expect((await fetch(`${origin}/ou/notes`)).status).not.toBe(421);
  });

  test.for(['https://db.example.com/', '//db.example.com/db/'])('logs nothing for requests to %s', async (base) => {
    const origin = await serve(configOf('/', { base }));
    expect((await fetch(`${origin}/db/`)).status).not.toBe(421);
  });

  test('leaves invalid addresses to Vite', async () => {
    const origin = await serve(configOf('/'));
    expect((await fetch(`${origin}//`)).status).not.toBe(500);
  });

  test('gives the page client the root', async () => {
    const origin = await serve(configOf('/app/'));
    const main = await (await fetch(`${origin}/app/main.js`)).text();
    const [, client = ''] = /from "([^"]+)"/.exec(main) ?? [];
    // Not one of those that Vite bundles beforehand: they know of no definitions.
    expect(client).toContain('/node_modules/settee/dist/browser/settee.js');
    const environment = await (await fetch(`${origin}/app/@vite/env`)).text();
    expect(environment).toMatch(/"?__SETTEE_ROOT__"?:\s*"\/app\/"/);
  });
});

describe('the build', () => {
  test('emits the service worker in the root and the worker in a folder, and gives both to the page client', async () => {
    const outDir = join(app, 'dist');
    await build({ ...configOf('/app/'), build: { outDir } });
    expect((await readdir(outDir)).filter((name) => name.startsWith('settee')).sort()).toEqual([
      wasm,
      'settee-sw-core.js',
      'settee-sw.js',
    ]);
    expect(await readFile(join(outDir, 'settee-sw.js'), 'utf8')).toBe('/* settee-sw.js */\n');
    const folder = await workerFolderOf(outDir);
    expect(folder).toMatch(/^settee-[0-9a-f]{8}$/);
    expect((await readdir(join(outDir, 'assets', folder))).sort()).toEqual([
      'settee-functions.js',
      'settee-journal.js',
      wasm,
      'settee-sandbox.js',
      'settee-worker.js',
    ]);
    expect([...(await readFile(join(outDir, 'assets', folder, wasm)))]).toEqual([0, 0x61, 0x73, 0x6d, 0xff]);
    const code = await codeIn(outDir);
    expect(code).toContain('/app/');
    expect(code).toContain(`assets/${folder}/`);
    expect(code).not.toContain('unknown');
  });

  test.for([
    ['settee-worker.js', false],
    [wasm, false],
    ['settee-sw-core.js', true],
  ] as const)('renames the folder of the worker when %s changes: not %s', async ([file, isSame]) => {
    const outDir = join(app, 'dist-hash');
    const config = { ...configOf('/'), build: { outDir, emptyOutDir: true, assetsDir: 'static' } };
    await build(config);
    const before = await workerFolderOf(outDir, 'static');
    const content = await readFile(join(app, 'files', file));
    await writeFile(join(app, 'files', file), Buffer.concat([content, Buffer.from('// changed\n')]));
    try {
      await build(config);
    } finally {
      await writeFile(join(app, 'files', file), content);
    }
    expect((await workerFolderOf(outDir, 'static')) === before).toBe(isSame);
  });

  test.for([
    ['/app', '/app/'],
    ['./', './'],
    ['', './'],
    ['//files.example.com/app/', '/'],
  ] as const)('gives the page client "%s" as a base, %s', async ([base, root]) => {
    const outDir = join(app, 'dist-base');
    await build({ ...configOf(base), build: { outDir, emptyOutDir: true } });
    const code = await codeIn(outDir);
    expect(code.replaceAll(/['`]/g, '"')).toContain(`"${root}"`);
  });

  test.for([
    ['/app/', '/app/', '/app/'],
    ['./', './', '../../'],
  ] as const)(
    'with the base %s preloads the worker with pages that import the client statically',
    async ([base, root, above]) => {
      const outDir = join(app, 'dist-preload');
      const pages = { 'index.html': 'main', 'deep/er/page.html': 'main', 'later.html': 'later', 'none.html': 'none' };
      const scripts = { later: "import('./main.js');\n", none: 'console.log(1);\n' };
      await mkdir(join(app, 'deep/er'), { recursive: true });
      for (const [page, script] of Object.entries(pages)) {
        await writeFile(join(app, page), `<!doctype html><script type="module" src="/${script}.js"></script>`);
      }
      for (const [name, text] of Object.entries(scripts)) await writeFile(join(app, `${name}.js`), text);
      const input = Object.keys(pages).map((page) => join(app, page));
      await build({ ...configOf(base), build: { outDir, emptyOutDir: true, rollupOptions: { input } } });
      const worker = `assets/${await workerFolderOf(outDir)}/settee-worker.js`;
      const tags = Object.keys(pages).map(async (page) => {
        const html = await readFile(join(outDir, page), 'utf8');
        return /<link rel="modulepreload" href="([^"]*settee-worker\.js)">/.exec(html)?.[1];
      });
      expect(await Promise.all(tags)).toEqual([root + worker, above + worker, undefined, undefined]);
    },
  );

  test('leaves a build for a server unchanged', async () => {
    const outDir = join(app, 'dist-ssr');
    await build({ ...configOf('/'), build: { outDir, ssr: join(app, 'main.js') } });
    expect((await readdir(outDir)).filter((name) => name.startsWith('settee'))).toEqual([]);
  });

  test('can be previewed with the files, and with 421 below the base of the database', async () => {
    const outDir = join(app, 'dist-preview');
    await build({ ...configOf('/'), build: { outDir } });
    const server = await preview({ ...configOf('/'), build: { outDir } });
    open.push(server);
    const origin = addressOf(server.httpServer.address());
    expect(await (await fetch(`${origin}/settee-sw.js`)).text()).toBe('/* settee-sw.js */\n');
    expect((await fetch(`${origin}/db/notes`)).status).toBe(421);
  });
});

describe('the administration page', () => {
  const withPage = (base: string): InlineConfig => ({
    ...configOf(base),
    plugins: [createPlugin({}, join(app, 'files'), openUtils(join(app, 'page')))],
  });
  const head = /^self\.setteeUtilsScript="settee-utils\/settee-sw-utils\.js\?[0-9a-f]{8}";\n\/\* settee-sw\.js \*\/\n$/;

  test('is served in development, except for its HTML, and the service worker is told of it', async () => {
    const origin = await serve(withPage('/app/'));
    for (const [file, type] of [
      ['settee-sw-utils.js', 'text/javascript'],
      ['assets/main-1.js', 'text/javascript'],
      ['assets/main-1.css', 'text/css'],
    ] as const) {
      const response = await fetch(`${origin}/app/settee-utils/${file}`);
      expect([response.status, response.headers.get('content-type')]).toEqual([200, type]);
      expect(await response.text()).toBe(`/* ${file} */\n`);
    }
    expect(await (await fetch(`${origin}/app/settee-utils/index.html`)).text()).not.toContain('/* index.html */');
    expect(await (await fetch(`${origin}/app/settee-sw.js`)).text()).toMatch(head);
  });

  test.for(['/db/_utils', '/db/_utils/', '/db/_utils/#/db/notes'])(
    'is explained at %s if the request missed the service worker',
    async (path) => {
      const origin = await serve(withPage('/'));
      const response = await fetch(origin + path);
      expect(response.status).toBe(421);
      expect(await response.json()).toEqual({
        error: 'misdirected_request',
        reason: expect.stringContaining('Open the app in this browser first'),
      });
      expect(await (await fetch(`${origin}/db/notes`)).text()).toContain('settee.fetch');
    },
  );

  test('is in the build, except for its HTML, and a change of it changes the service worker', async () => {
    const outDir = join(app, 'dist-page');
    const config = { ...withPage('./'), build: { outDir, emptyOutDir: true } };
    await build(config);
    const names = await readdir(join(outDir, 'settee-utils'), { recursive: true });
    expect(names.sort()).toEqual(['assets', 'assets/main-1.css', 'assets/main-1.js', 'settee-sw-utils.js']);
    const before = await readFile(join(outDir, 'settee-sw.js'), 'utf8');
    expect(before).toMatch(head);
    await writeFile(join(app, 'page/settee-sw-utils.js'), '/* another */\n');
    await build(config);
    expect(await readFile(join(outDir, 'settee-sw.js'), 'utf8')).not.toBe(before);
  });

  test.for(['https://db.example.com/', '//db.example.com/db/'])('is refused with the base %s', (base) => {
    expect(() => settee({ base, utils: true })).toThrow(
      `the administration page needs a base that is a path, such as /db/, but the base is ${base}`,
    );
  });

  test('that is missing is refused with the folder', () => {
    expect(() => openUtils(join(app, 'nowhere'))).toThrow(`the administration page is not in ${join(app, 'nowhere')}`);
  });
});
