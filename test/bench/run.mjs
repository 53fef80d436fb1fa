/**
 * `npm run bench`: how fast Settee is on this machine, beside what the same work costs at least (floors) or costs
 * others (peers), measured in the same run. Prints one table and writes it to dist/bench.md.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { build as buildSettee, builtMain, install, root } from '../../src/node/prepare.mjs';
import { buildOf } from './against/builds.mjs';
import { compare, pin, toTable } from './against/comparison.mjs';
import { toMarkdown } from './figures.mjs';
import { ServerProcess } from './processes.mjs';
import { describeProfiles } from './profile.mjs';
import * as accounts from './scenarios/accounts.mjs';
import * as allDocs from './scenarios/all-docs.mjs';
import * as attachments from './scenarios/attachments.mjs';
import * as bulk from './scenarios/bulk.mjs';
import * as changes from './scenarios/changes.mjs';
import * as chunks from './scenarios/chunks.mjs';
import * as fileSize from './scenarios/file-size.mjs';
import * as find from './scenarios/find.mjs';
import * as get from './scenarios/get.mjs';
import * as growth from './scenarios/growth.mjs';
import * as longestPut from './scenarios/longest-put.mjs';
import * as million from './scenarios/million.mjs';
import * as postgres from './scenarios/postgres.mjs';
import * as pouchdb from './scenarios/pouchdb.mjs';
import * as put from './scenarios/put.mjs';
import * as replication from './scenarios/replication.mjs';
import * as viewBuilds from './scenarios/view-builds.mjs';
import * as views from './scenarios/views.mjs';

const scenarios = [
  bulk,
  put,
  get,
  allDocs,
  attachments,
  pouchdb,
  longestPut,
  fileSize,
  views,
  viewBuilds,
  find,
  changes,
  replication,
  accounts,
  postgres,
  chunks,
  million,
  growth,
];

const help = `Usage: npm run bench -- [options]

  --only NAME    one scenario; may be given several times
  --quick        smaller numbers, a minute in all; the scenario "million" is left out
  --million N    documents in that scenario and in "growth" (default 1000000)
  --profile      also tell where the server spent its time
  --against REF  this build beside that of another commit, in turns; see docs/contributing.md
  --build FILE   another build of src/node/main.ts, to compare with (default: dist/node/main.js, made if need be)
  --folder DIR   where the data goes (default: the system's temporary folder)
  -h, --help     this text

Scenarios:
${scenarios.map(({ name, about }) => `  ${name.padEnd(13)}${about}`).join('\n')}

The exit code is 1 when a figure is not what is asked.
`;

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    quick: { type: 'boolean', default: false },
    million: { type: 'string', default: '1000000' },
    profile: { type: 'boolean', default: false },
    build: { type: 'string' },
    against: { type: 'string' },
    generations: { type: 'string', default: '3' },
    folder: { type: 'string', default: tmpdir() },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

/** What a scenario gets: sizes, folders, servers. */
class Bench {
  build = options.build === undefined ? builtMain : resolve(options.build);
  openDatabaseScript = join(root, 'dist', 'bench', 'open-database.js');
  countedRequestsScript = join(root, 'dist', 'bench', 'counted-requests.js');
  postgresServerScript = join(root, 'dist', 'bench', 'postgres-server.js');
  millionDocuments = Number(options.million);
  profileFolder;
  #folder = mkdtempSync(join(options.folder, 'settee-bench-'));
  #made = 0;

  /** The first in a whole run, the second in a quick one. */
  size(whole, quick) {
    return options.quick ? quick : whole;
  }

  newFolder() {
    const folder = join(this.#folder, String(++this.#made));
    mkdirSync(folder);
    return folder;
  }

  startSettee(folder = this.newFolder()) {
    if (!options.profile) return ServerProcess.startSettee(this.build, folder);
    this.profileFolder ??= this.newFolder();
    return ServerProcess.startSettee(this.build, folder, [
      '--cpu-prof',
      `--cpu-prof-dir=${this.profileFolder}`,
      '--cpu-prof-interval=250',
    ]);
  }

  cleanUp() {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

if (options.help) process.stdout.write(help);
else await main();

async function main() {
  if (options.against !== undefined) return compareBuilds();
  const chosen = choose();
  await prepare();
  const figures = [];
  for (const scenario of chosen) figures.push(...(await runScenario(scenario)));
  const { length: cores, 0: core } = cpus();
  const title = `Node ${process.version}, ${cores} × ${core?.model}, ${new Date().toISOString().slice(0, 10)}${options.quick ? ', quick' : ''}`;
  const table = `${title}\n\n${toMarkdown(figures)}\n`;
  process.stdout.write(`\n${table}`);
  mkdirSync(join(root, 'dist'), { recursive: true });
  writeFileSync(join(root, 'dist', 'bench.md'), table);
  process.exitCode = figures.some(({ ok }) => ok === false) ? 1 : 0;
}

async function compareBuilds() {
  install();
  buildSettee();
  const { commit, main: former } = buildOf(options.against);
  const builds = { former, current: builtMain };
  const bench = new Bench();
  pin(process.pid, 0);
  try {
    const rows = await compare({
      start: (build, nodeArguments) => ServerProcess.startSettee(builds[build], bench.newFolder(), nodeArguments),
      generations: options.quick ? 1 : Number(options.generations),
      rounds: options.quick ? 3 : 5,
      only: options.only,
    });
    const table = `${commit} → this build, Node ${process.version}, ${new Date().toISOString().slice(0, 10)}\n\n${toTable(rows)}\n`;
    process.stdout.write(`\n${table}`);
    writeFileSync(join(root, 'dist', `bench-against-${commit}.md`), table);
    process.exitCode = rows.some(({ isLoss }) => isLoss) ? 1 : 0;
  } finally {
    bench.cleanUp();
  }
}

function choose() {
  const unknown = options.only.find((name) => !scenarios.some((scenario) => scenario.name === name));
  if (unknown !== undefined) throw new Error(`There is no scenario "${unknown}"; --help lists them.`);
  if (options.only.length > 0) return scenarios.filter(({ name }) => options.only.includes(name));
  return scenarios.filter((scenario) => !scenario.isExtra && !(options.quick && scenario === million));
}

async function prepare() {
  install();
  if (options.build === undefined) buildSettee();
  const { build } = await import('vite');
  for (const script of ['open-database', 'counted-requests', 'postgres-server']) {
    await build({
      root,
      configFile: false,
      logLevel: 'warn',
      build: {
        ssr: `test/bench/${script}.ts`,
        outDir: 'dist/bench',
        emptyOutDir: false,
        target: 'node20',
        rolldownOptions: { output: { entryFileNames: `${script}.js`, codeSplitting: false } },
      },
    });
  }
}

async function runScenario(scenario) {
  const bench = new Bench();
  const startedAt = performance.now();
  process.stderr.write(`${scenario.name} … `);
  try {
    const figures = await scenario.run(bench);
    process.stderr.write(`${((performance.now() - startedAt) / 1_000).toFixed(0)} s\n`);
    if (bench.profileFolder !== undefined)
      process.stderr.write(`${describeProfiles(bench.profileFolder, bench.build)}\n`);
    return figures;
  } finally {
    bench.cleanUp();
  }
}
