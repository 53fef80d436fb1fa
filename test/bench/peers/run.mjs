/** `npm run bench:browser -- --peers`: Settee beside what a page may use instead, in one browser, in turns. */
import { cpSync, readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { build as buildVite } from 'vite';
import { install, root } from '../../../src/node/prepare.mjs';
import { launch } from '../browser/launch.mjs';
import { startServer } from '../browser/server.mjs';
import { PEERS } from './peers.mjs';
import { toTable } from './table.mjs';

const here = import.meta.dirname;

/** `only`: keys of peers; all where it is empty. Gives the table and its notes. Errors: an unknown key, what the page reports. */
export async function comparePeers({ engine, isQuick, only }) {
  const unknown = only.find((name) => !PEERS.some(({ key }) => key === name));
  if (unknown !== undefined) throw new Error(`There is no peer ${unknown}: ${PEERS.map(({ key }) => key).join(', ')}`);
  install(here);
  const pages = join(root, 'dist', 'bench-peers');
  await buildScripts(join(pages, 'peers'));
  const server = await startServer([join(root, 'dist', 'browser'), pages]);
  const address = new URL('/peers/page.html', server.origin);
  if (isQuick) address.searchParams.set('quick', '1');
  for (const name of only) address.searchParams.append('only', name);
  const browser = await launch(engine, address.href);
  try {
    const { values, userAgent } = await server.results;
    const heading = `${cpus().length} × ${cpus()[0]?.model ?? 'processor'}, ${userAgent}, ${new Date().toISOString().slice(0, 10)}`;
    return `${heading}\n\n${toTable(values, PEERS, versionOf)}\n`;
  } finally {
    await browser.close();
    server.close();
  }
}

function versionOf(name) {
  return JSON.parse(readFileSync(join(here, 'node_modules', name, 'package.json'), 'utf8')).version;
}

async function buildScripts(outDir) {
  const entries = ['page', ...PEERS.map(({ key }) => key)];
  const output = { entryFileNames: '[name].js', chunkFileNames: '[name]-[hash].js', paths: { settee: '/settee.js' } };
  await buildVite({
    root: here,
    configFile: false,
    logLevel: 'error',
    base: '/peers/',
    publicDir: false,
    define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
    worker: { format: 'es' },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2022',
      assetsDir: '.',
      assetsInlineLimit: 0,
      modulePreload: false,
      chunkSizeWarningLimit: 10_000,
      rolldownOptions: {
        input: Object.fromEntries(entries.map((name) => [name, join(here, `${name}.mjs`)])),
        preserveEntrySignatures: 'strict',
        external: ['settee'],
        output,
      },
    },
  });
  for (const page of ['page.html', 'visit.html']) cpSync(join(here, page), join(outDir, page));
}
