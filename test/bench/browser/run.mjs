/**
 * `npm run bench:browser`: how fast Settee is in a browser of this machine, beside PouchDB with both of its IndexedDB
 * adapters in the same browser and run. The browser is started plainly with an address, without any devtools session,
 * which would slow the service worker down; the page measures by itself and posts what it found. Prints one table and
 * writes it to dist/bench-<engine>.md.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { build as buildVite } from 'vite';
import { build, install, root } from '../../../src/node/prepare.mjs';
import { buildOf } from '../against/builds.mjs';
import { toMarkdown } from '../figures.mjs';
import { comparePeers } from '../peers/run.mjs';
import { compareInBrowser } from './against.mjs';
import { launch } from './launch.mjs';
import { startRemote } from './remote-server.mjs';
import { watchRenderers } from './renderers.mjs';
import { startServer } from './server.mjs';
import { toFigures } from './table.mjs';

const SCENARIOS = [
  'bulk',
  'put',
  'get',
  'cold',
  'visits',
  'all-docs',
  'attachments',
  'views',
  'service-worker',
  'others',
  'large',
  'replication',
];

const help = `Usage: npm run bench:browser -- [options]

  --engine NAME  chromium (default), firefox or webkit
  --quick        smaller numbers, a minute or two in all
  --against REF  this build beside that of another commit, in turns; see docs/contributing.md
  --generations N  browsers of each build then (default 5)
  --peers        beside Dexie, RxDB, SQLite and PGlite; see docs/contributing.md
  --only NAME    one scenario, or with --peers one of them; may be given several times: ${SCENARIOS.join(', ')}
  -h, --help     this text

The exit code is 1 when a figure is not what is asked; what is asked of figures holds for Chromium.
`;

const { values: options } = parseArgs({
  options: {
    engine: { type: 'string', default: 'chromium' },
    quick: { type: 'boolean', default: false },
    against: { type: 'string' },
    peers: { type: 'boolean', default: false },
    generations: { type: 'string', default: '5' },
    only: { type: 'string', multiple: true, default: [] },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

const unknown = options.only.filter((name) => !SCENARIOS.includes(name));
if (options.help) process.stdout.write(help);
else if (options.peers) await comparePeersHere();
else if (unknown.length > 0) {
  process.stderr.write(`There is no scenario ${unknown.join(', ')}.\n\n${help}`);
  process.exitCode = 2;
} else if (options.against !== undefined) await compareBuilds();
else await main();

async function compareBuilds() {
  install();
  build();
  const { commit, browser: former } = buildOf(options.against);
  const { table, hasLoss } = await compareInBrowser({
    engine: options.engine,
    folders: { former, current: join(root, 'dist', 'browser') },
    generations: options.quick ? 2 : Number(options.generations),
    isQuick: options.quick,
  });
  const text = `${commit} → this build, ${options.engine}, ${new Date().toISOString().slice(0, 10)}\n\n${table}\n`;
  process.stdout.write(`\n${text}`);
  writeFileSync(join(root, 'dist', `bench-${options.engine}-against-${commit}.md`), text);
  process.exitCode = hasLoss ? 1 : 0;
}

async function comparePeersHere() {
  install();
  build();
  const { engine, quick: isQuick, only } = options;
  const table = await comparePeers({ engine, isQuick, only });
  process.stdout.write(`\n${table}`);
  writeFileSync(join(root, 'dist', `bench-${engine}-peers.md`), table);
}

async function main() {
  install();
  build();
  const pages = join(root, 'dist', 'bench-browser');
  await buildPage(pages);
  const folders = [join(root, 'dist', 'browser'), pages, import.meta.dirname];
  const services = {};
  const server = await startServer(folders, services);
  const remote = await startRemote(server.origin);
  const address = new URL('/page.html', server.origin);
  if (options.quick) address.searchParams.set('quick', '1');
  for (const name of options.only) address.searchParams.append('only', name);
  address.searchParams.set('other', server.otherOrigin);
  const browser = await launch(options.engine, address.href);
  let watch;
  services['/remote'] = ({ name, count }) => remote.fill(name, count);
  services['/memory/begin'] = () => {
    watch = watchRenderers(browser.pid);
  };
  services['/memory/end'] = () => ({ megabytes: watch.stop() });
  try {
    report(await server.results);
  } finally {
    await browser.close();
    await remote.stop();
    server.close();
  }
}

async function buildPage(outDir) {
  await buildScript(outDir, 'page');
  await buildScript(outDir, 'pouchdb');
}

async function buildScript(outDir, name) {
  await buildVite({
    root,
    configFile: false,
    logLevel: 'warn',
    define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
    resolve: { alias: { events: join(import.meta.dirname, 'events.mjs') } },
    build: {
      outDir,
      emptyOutDir: false,
      target: 'es2022',
      lib: { entry: join(import.meta.dirname, `${name}.mjs`), formats: ['es'], fileName: () => `${name}.js` },
      rolldownOptions: { external: ['settee'], output: { paths: { settee: '/settee.js' }, codeSplitting: false } },
    },
  });
}

function report({ values, userAgent }) {
  const figures = toFigures(values, options.engine);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const heading = `Settee ${version}, ${cpus().length} × ${cpus()[0]?.model ?? 'processor'}, ${userAgent}`;
  const table = `${heading}\n\n${toMarkdown(figures)}\n`;
  process.stdout.write(`\n${table}`);
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(join(root, 'dist', `bench-${options.engine}.md`), table);
  process.exitCode = figures.some(({ ok }) => ok === false) ? 1 : 0;
}
