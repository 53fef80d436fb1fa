/**
 * `npm test`: type checks of every environment, format and lint, then all tests, with browser tests in Chromium. Needs
 * only Node and npm; missing parts are installed and built first, including Chromium if this is a Debian and the user is
 * root. Each type check and the lint count as one test. Failures are listed once more at the end, each on a line that begins
 * with `✗ failed:`; the last line is `N passed, N failed`, and the exit code is 1 when anything failed.
 *
 * Arguments are passed on to vitest (`npm test -- test/unit/node`, `npm test -- test/browser/bodies`); then only those
 * tests run, with no checks before. `npm run test:browsers` is this with `--browsers=firefox,webkit`: only the tests in
 * browsers, in those. `npm run test:all` is this with `--all`: everything, in all three, the tests with packages of others (test/integrations), and
 * the documentation site in Chromium (with `--long` in all three). `--chromium-features=NAMES` switches on features
 * that Chromium does not have by default yet: `npm run test:sqlite` is this with its other storage backend. `--long` (`npm run test:long`) runs
 * kills and random choices for more rounds, and the whole HTTP conformance suite on every host and every way in a browser. Without it memory, LMDB, PostgreSQL
 * and one way in each browser run all of it, and the others the cases that depend on how requests and responses travel.
 *
 * All files of a process share the modules that it has loaded: no module of ours keeps state (src/README.md#one-door), and loading them again for
 * each file takes as long as most tests. Outside of browsers, chosen files are run each by itself.
 *
 * Most tests spend a part of the time waiting, so one file more runs at a time than there are processors. Which browser tests run alone, and
 * which first, is in test/browser/vitest.config.ts.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { build, checkNode, install, PreparationError, root } from '../src/node/prepare.mjs';

const checks = [
  ...findProjects().map((folder) => ({
    name: `types in ${folder}`,
    command: ['typescript/bin/tsc', '-p', `${folder}/tsconfig.json`],
  })),
  { name: 'format and lint', command: ['@biomejs/biome/bin/biome', 'check', '--error-on-warnings'] },
];

const unprepared = { name: 'install and build', passed: 0, failed: 1, skipped: 0, failures: ['see above'] };

/** Files that mock a module, which must not be loaded yet, or that count the process's timers, which other files may also set. */
const inOwnProcess = ['test/unit/node/server/closing.test.ts', 'test/unit/http/response/live-body.test.ts'];

checkNode();
const options = ['--browsers=', '--chromium-features=', '--long', '--all'];
const [browsers, chromiumFeatures, long, all] = options.map((option) =>
  process.argv.find((argument) => argument.startsWith(option))?.slice(option.length),
);
const chosen = process.argv.slice(2).filter((argument) => !options.some((option) => argument.startsWith(option)));
report(isPrepared() ? await runAll(chosen) : [unprepared]);

/** Every folder with a tsconfig.json of its own: each is an environment, with its own globals. */
function findProjects() {
  const folders = ['src', 'test', 'demo', 'docs'].filter((folder) => existsSync(join(root, folder)));
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((path) => basename(path) === 'tsconfig.json' && !path.includes('node_modules'))
      .map((path) => join(folder, dirname(path)))
      .sort(),
  );
}

function isPrepared() {
  try {
    install();
    build();
    return true;
  } catch (error) {
    if (!(error instanceof PreparationError)) throw error;
    process.stdout.write(`${error.message}\n`);
    return false;
  }
}

async function runAll(filters) {
  const isOfBrowsers = (filter) => filter.startsWith('test/browser');
  const isOfSite = (filter) => filter.startsWith('test/site');
  const inBrowsers = filters.filter(isOfBrowsers);
  const onSite = filters.filter(isOfSite);
  const others = filters.filter((filter) => !isOfBrowsers(filter) && !isOfSite(filter));
  if (browsers !== undefined) return runInBrowsers(browsers, inBrowsers);
  const engines = all === undefined ? 'chromium' : 'chromium,firefox,webkit';
  if (filters.length === 0) {
    return [
      ...(await runChecks()),
      ...(await runOutsideBrowsers()),
      ...(all === undefined ? [] : await runIntegrations()),
      ...(await runInBrowsers(engines)),
      ...(all === undefined ? [] : await runOnSite(long === undefined ? 'chromium' : engines)),
    ];
  }
  return [
    ...(others.length > 0 ? await runTests('tests', others) : []),
    ...(inBrowsers.length > 0 ? await runInBrowsers(engines, inBrowsers) : []),
    ...(onSite.length > 0 ? await runOnSite(engines, onSite) : []),
  ];
}

/** As many at a time as there are processors. */
async function runChecks() {
  const outcomes = [];
  const waiting = [...checks.entries()];
  async function work() {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, one] = next;
      outcomes[index] = await check(one);
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return outcomes;
}

async function runOutsideBrowsers() {
  const excluded = inOwnProcess.map((file) => `--exclude=${file}`);
  const together = ['--no-isolate', `--maxWorkers=${availableParallelism() + 1}`, ...excluded];
  const outcomes = [...(await runTests('tests', together)), ...(await runTests('tests', inOwnProcess))];
  return [outcomes.reduce(sumOf)];
}

/** The tests with packages of others, which are installed for them: with `--all` only. */
async function runIntegrations() {
  const folder = join(root, 'test', 'integrations');
  try {
    install(folder);
  } catch (error) {
    if (!(error instanceof PreparationError)) throw error;
    return [{ ...unprepared, name: 'integrations', failures: [error.message] }];
  }
  return runTests('integrations', ['--config', 'test/integrations/vitest.config.ts']);
}

function runInBrowsers(engines, filters = []) {
  const common = ['--config', 'test/browser/vitest.config.ts', '--reporter=./test/browser/second-attempts.ts'];
  return runTests('tests in', [...common, ...filters], {
    SETTEE_BROWSERS: engines,
    ...(chromiumFeatures && { SETTEE_CHROMIUM_FEATURES: chromiumFeatures }),
  });
}

/** The documentation site, whose packages are installed for that. */
function runOnSite(engines, filters = []) {
  return runTests('documentation site', ['--config', 'test/site/vitest.config.ts', ...filters], {
    SETTEE_BROWSERS: engines,
  });
}

function sumOf(total, { passed, failed, skipped, failures }) {
  return {
    name: total.name,
    passed: total.passed + passed,
    failed: total.failed + failed,
    skipped: total.skipped + skipped,
    failures: [...total.failures, ...failures],
  };
}

/** Runs a tool from node_modules, whose output is shown only when it fails. */
async function check({ name, command: [script, ...toolArguments] }) {
  const tool = spawn(process.execPath, [join(root, 'node_modules', script), ...toolArguments], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const printed = [];
  for (const stream of [tool.stdout, tool.stderr]) stream.on('data', (chunk) => printed.push(chunk));
  const [status] = await once(tool, 'close');
  const ok = status === 0;
  if (!ok) process.stdout.write(Buffer.concat(printed));
  return { name, passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0, failures: ok ? [] : ['see above'] };
}

/** One outcome for each project of vitest's, under this name and that of the project. */
async function runTests(name, testArguments, variables = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'settee-test-'));
  const file = join(folder, 'outcomes.json');
  const reporters = ['dot', './test/support/stuck-run.ts', './test/support/outcomes.ts'];
  const reporting = reporters.map((reporter) => `--reporter=${reporter}`);
  const ok = await runVitest(['run', ...reporting, ...testArguments], { ...variables, SETTEE_OUTCOMES: file });
  const outcomes = readOutcomes(file, name);
  rmSync(folder, { recursive: true, force: true });
  // Errors outside of any test (an unhandled rejection, a worker that died) fail the run, so they must show here.
  if (!ok && outcomes.every(({ failed }) => failed === 0)) {
    outcomes.push({ name, passed: 0, failed: 1, skipped: 0, failures: ['an error outside of any test: see above'] });
  }
  return outcomes;
}

function readOutcomes(file, name) {
  try {
    const outcomes = Object.entries(JSON.parse(readFileSync(file, 'utf8')));
    return outcomes.map(([project, outcome]) => ({ name: `${name} ${project}`.trim(), ...outcome }));
  } catch (error) {
    const failures = [`vitest left no readable report: ${error.message}`];
    return [{ name, passed: 0, failed: 1, skipped: 0, failures }];
  }
}

async function runVitest(vitestArguments, variables) {
  const vitest = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...vitestArguments], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...(process.stdout.isTTY ? {} : { NO_COLOR: '1' }),
      ...(long === undefined ? {} : { SETTEE_LONG: '1' }),
      ...process.env,
      ...variables,
    },
  });
  const [code] = await once(vitest, 'close');
  return code === 0;
}

function report(outcomes) {
  const width = Math.max(...outcomes.map(({ name }) => name.length));
  for (const { name, passed, failed, skipped } of outcomes) {
    const note = skipped > 0 ? `, ${skipped} skipped` : '';
    process.stdout.write(
      `${failed > 0 ? '✗' : '✓'} ${name.padEnd(width)}  ${passed} passed, ${failed} failed${note}\n`,
    );
  }
  for (const { name, failures } of outcomes) {
    for (const failure of failures) process.stdout.write(`✗ failed: ${name}: ${failure}\n`);
  }
  const sum = (key) => outcomes.reduce((total, outcome) => total + outcome[key], 0);
  process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed\n`);
  process.exitCode = sum('failed') > 0 ? 1 : 0;
}
