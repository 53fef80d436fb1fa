import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, type InlineConfig } from 'vite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createPlugin } from '../../../../src/packages/vite/plugin.ts';
import { createPrecachePlugin, type PrecacheOptions } from '../../../../src/packages/vite/precache.ts';
import { openUtils } from '../../../../src/packages/vite/utils.ts';

/** A tiny app, and stand-ins for the files that are built. */
let app = '';
const outDir = () => join(app, 'dist');

beforeAll(async () => {
  app = await mkdtemp(join(tmpdir(), 'settee-precache-'));
  const write = async (name: string, text: string) => {
    await mkdir(join(app, name, '..'), { recursive: true });
    await writeFile(join(app, name), text);
  };
  await write('index.html', '<!doctype html><script type="module" src="/main.js"></script>');
  await write('main.js', "console.log('one');");
  await write('public/robots.txt', 'User-agent: *');
  await write('public/icons/a b.svg', '<svg/>');
  for (const name of ['worker', 'functions', 'sandbox', 'journal', 'sw', 'sw-core', 'sw-precache']) {
    await write(`files/settee-${name}.js`, `/* ${name} */`);
  }
  await write('files/settee-quickjs.wasm', 'wasm');
  await write('page/settee-sw-utils.js', '/* sw-utils */');
  await write('page/assets/main-1a2b3c4d.js', '/* page */');
});
afterAll(() => rm(app, { recursive: true }));

async function built(options: PrecacheOptions = {}, config: InlineConfig = {}): Promise<unknown> {
  const files = join(app, 'files');
  await build({
    configFile: false,
    root: app,
    logLevel: 'silent',
    plugins: [createPlugin({}, files), createPrecachePlugin(options, files)],
    ...config,
    build: { outDir: outDir(), emptyOutDir: true, sourcemap: true, ...config.build },
  });
  const [head = '', rest] = (await readFile(join(outDir(), 'settee-sw.js'), 'utf8')).split(';\n');
  expect(rest).toBe('/* sw */');
  expect(await readFile(join(outDir(), 'settee-sw-precache.js'), 'utf8')).toBe('/* sw-precache */');
  return JSON.parse(head.replace('self.setteePrecache=', ''));
}

describe('the precache list that the plugin adds to the service worker', () => {
  const hash = expect.stringMatching(/^[0-9a-f]{16}$/);

  test('has the whole build, with hashes for names without one, without maps and the service worker itself', async () => {
    expect(await built()).toEqual({
      version: '',
      files: [
        { url: expect.stringMatching(/^assets\/index-[\w-]{8}\.js$/), revision: null },
        ...['functions.js', 'journal.js', 'quickjs.wasm', 'sandbox.js', 'worker.js'].map((name) => ({
          url: expect.stringMatching(new RegExp(`^assets/settee-[0-9a-f]{8}/settee-${name}$`)),
          revision: null,
        })),
        { url: 'icons/a%20b.svg', revision: hash },
        { url: 'index.html', revision: hash },
        { url: 'robots.txt', revision: hash },
      ],
    });
  });

  test('has hashes of all files if the app names the files itself', async () => {
    const output = { entryFileNames: 'assets/[name].js' };
    expect(await built({}, { build: { rolldownOptions: { output } } })).toMatchObject({
      files: expect.arrayContaining([{ url: 'assets/index.js', revision: hash }]),
    });
  });

  test('leaves out configured files, and names the fallback page', async () => {
    const list = await built({ exclude: [/^assets\/settee-/, /^icons\//], fallback: 'index.html' });
    expect(list).toMatchObject({ fallback: 'index.html', files: [{}, { url: 'index.html' }, { url: 'robots.txt' }] });
  });

  test('has the files of the administration page, without the script that the service worker imports', async () => {
    const files = join(app, 'files');
    await build({
      configFile: false,
      root: app,
      logLevel: 'silent',
      plugins: [createPlugin({}, files, openUtils(join(app, 'page'))), createPrecachePlugin({}, files)],
      build: { outDir: outDir(), emptyOutDir: true },
    });
    const [list = '', utils = '', rest] = (await readFile(join(outDir(), 'settee-sw.js'), 'utf8')).split(';\n');
    expect(JSON.parse(list.replace('self.setteePrecache=', '')).files).toContainEqual({
      url: 'settee-utils/assets/main-1a2b3c4d.js',
      revision: null,
    });
    expect(list).not.toContain('settee-sw-utils.js');
    expect(utils).toContain('self.setteeUtilsScript="settee-utils/settee-sw-utils.js?');
    expect(rest).toBe('/* sw */');
  });

  test('leaves out public files that are not copied', async () => {
    expect(JSON.stringify(await built({}, { build: { copyPublicDir: false } }))).not.toContain('robots.txt');
  });
});

test('a fallback that is not a file is refused, with the reason', async () => {
  await expect(built({ fallback: 'app.html' })).rejects.toThrow('the fallback app.html is not in the build');
});

test('an app whose files are on another origin is refused, with the reason', async () => {
  await expect(built({}, { base: 'https://cdn.example.com/' })).rejects.toThrow(
    'a service worker keeps files of its own origin, but the base of this app is https://cdn.example.com/',
  );
});
