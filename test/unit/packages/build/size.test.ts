import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { describe, expect, test, vi } from 'vitest';

/** Of the build that `npm test` makes before the tests. */
const built = join(import.meta.dirname, '../../../../dist/browser');
const kilobyte = 1024;

function gzipped(text: string): number {
  return gzipSync(text, { level: 9 }).length;
}

function read(file: string): string {
  return readFileSync(join(built, file), 'utf8');
}

describe('the gzipped files that a browser loads', () => {
  /** What is loaded on first use has no limit, nor has the core of the service worker, which holds all of that. */
  test.for([
    ['settee.js', 14],
    ['settee-database.js', 6],
    ['settee-transfer.js', 4],
    ['settee-sw.js', 12],
    ['settee-worker.js', 162],
    ['../library/tanstack.js', 13],
  ] as const)('%s is at most %d kB', ([file, most]) => {
    expect(gzipped(read(file))).toBeLessThanOrEqual(most * kilobyte);
  });
});

describe('the built files', () => {
  test.for(['settee-sw.js', 'settee-sw-core.js', 'settee-sw-precache.js'])('%s is a classic script', (file) => {
    expect(() => new Function(read(file))).not.toThrow();
  });

  test.for([
    'settee.js',
    'settee-database.js',
    'settee-transfer.js',
    'settee-worker.js',
    'settee-functions.js',
    'settee-journal.js',
    'settee-sandbox.js',
  ])('%s imports nothing when it is loaded', (file) => {
    expect(read(file)).not.toMatch(/\bimport\s*["'`{*]|\bimport\s+[\w$]/);
  });

  test('have no dynamic import except in the worker', () => {
    const imports = read('settee-worker.js').match(/\bimport\([^)]*/g) ?? [];
    expect(imports.sort()).toEqual([
      'import(`./settee-functions.js`',
      'import(`./settee-journal.js`',
      expect.stringContaining('?attempt='),
    ]);
    for (const file of ['settee.js', 'settee-functions.js', 'settee-journal.js', 'settee-sandbox.js'])
      expect(read(file)).not.toMatch(/\bimport\(/);
  });

  test.for(['../library/msw.js', '../library/sw.js', 'settee.js'])(
    "%s refers to nothing that a page's bundler has to resolve",
    (file) => {
      expect(read(file).match(/\bimport\(["'`].*|\bnew URL\([^)]*import\.meta.*/g)).toBeNull();
    },
  );

  test.for(['settee-functions.js', 'settee-journal.js'])('%s is refused by a worker of another build', async (file) => {
    vi.stubGlobal('self', { location: new URL('https://app.example/settee-worker.js') });
    await expect(import(pathToFileURL(join(built, file)).href)).rejects.toThrow(TypeError);
    vi.unstubAllGlobals();
  });
});

describe('an app that imports from settee/database', () => {
  /** Bytes of the code that a bundler keeps. */
  async function bundled(code: string): Promise<number> {
    const result = await build({
      configFile: false,
      logLevel: 'silent',
      plugins: [
        {
          name: 'app',
          resolveId: (id) =>
            id === 'app' ? id : id === 'settee/database' ? join(built, 'settee-database.js') : undefined,
          load: (id) => (id === 'app' ? code : undefined),
        },
      ],
      build: { write: false, modulePreload: false, rolldownOptions: { input: 'app' } },
    });
    if (!('output' in result)) throw new Error('nothing was built');
    return result.output[0].code.length;
  }

  test('only types, or one name, contains no more than that', async () => {
    expect(await bundled("import 'settee/database'; console.log(1);")).toBeLessThan(50);
    expect(await bundled("import { SetteeError } from 'settee/database'; console.log(SetteeError);")).toBeLessThan(400);
    const helper = await bundled("import { database } from 'settee/database'; console.log(database);");
    expect(helper).toBeGreaterThan(1000);
    expect(helper).toBeLessThan(5000);
    expect(await bundled("import { sync } from 'settee/database'; console.log(sync);")).toBeGreaterThan(helper);
  });
});
