/**
 * `npm test`: type checks of every environment, format and lint, then all tests, with browser tests in Chromium. Needs
 * only Node and npm; missing parts are installed and built first, including Chromium if this is a Debian and the user is
 * root. Each type check and the lint count as one test. Failures are listed once more at the end, each on a line that begins
 * with `✗ failed:`; the last line is `N passed, N failed`, and the exit code is 1 when anything failed.
 *
 * Arguments are passed on to vitest (`npm test -- test/unit/node`, `npm test -- test/browser/bodies`); then only those
 * tests run, with no checks before. `--chromium-features=NAMES` switches on features that Chromium does not have by default yet: `npm run
 * test:sqlite` is this with its other storage backend. `npm run test:browsers` is this with `--browsers=firefox,webkit`: only the tests in
 * browsers, in those. `--long` (`npm run test:long`) runs kills and random choices for more rounds, and the whole HTTP conformance suite on every
 * host and every way in a browser. Without it memory, LMDB and one way in each browser run all of it, and the others the cases that depend on
 * how requests and responses travel.
 *
 * All files of a process share the modules that it has loaded: no module of ours keeps state (src/README.md#one-door), and loading them again for
 * each file takes as long as most tests. Outside of browsers, chosen files are run each by itself.
 *
 * Most browser tests spend a part of the time waiting, so two files run at a time, each with a browser of
 * its own: two of Chromium, or one of Firefox and one of WebKit. Tests that measure response times run before them, alone; tests that
 * wait for minutes run beside them.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, relative } from 'node:path';
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
/** Files of browser tests that measure milliseconds: nothing else may run. */
const measuring = ['test/browser/faults-ownership.test.ts', 'test/browser/functions-beside.test.ts'];
/** How many files run at a time, if more than one. */
const sideBySide = { chromium: ['--fileParallelism', '--maxWorkers=2'] };
/** Files that take minutes in which almost nothing happens. */
const waiting = ['test/browser/long-bodies.test.ts'];
/** What the other engines test in two other setups, through a page and through a service worker; and what only Chromium can measure. */
const inChromiumOnly = ['test/browser/http-conformance-core.test.ts', 'test/browser/large-attachments.test.ts'];

checkNode();
const options = ['--browsers=', '--chromium-features=', '--long'];
const [browsers, chromiumFeatures, long] = options.map((option) =>
  process.argv.find((argument) => argument.startsWith(option))?.slice(option.length),
);
const chosen = process.argv.slice(2).filter((argument) => !options.some((option) => argument.startsWith(option)));
report(isPrepared() ? await runAll(chosen) : [unprepared]);

/** Every folder with a tsconfig.json of its own: each is an environment, with its own globals. */
function findProjects() {
  const folders = ['src', 'test', 'demo'].filter((folder) => existsSync(join(root, folder)));
  return folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true })
      .filter((path) => basename(path) === 'tsconfig.json')
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
  const inBrowsers = filters.filter(isOfBrowsers);
  const others = filters.filter((filter) => !isOfBrowsers(filter));
  if (browsers !== undefined) return runInBrowsers(browsers.split(','), inBrowsers);
  if (filters.length === 0) {
    return [...checks.map(check), await runOutsideBrowsers(), ...(await runInBrowsers(['chromium'], []))];
  }
  return [
    ...(others.length > 0 ? [await runTests('tests', others)] : []),
    ...(inBrowsers.length > 0 ? await runInBrowsers(['chromium'], inBrowsers) : []),
  ];
}

async function runOutsideBrowsers() {
  const shared = await runTests('tests', ['--no-isolate', ...without(inOwnProcess)]);
  return sumOf([shared, await runTests('tests', inOwnProcess)]);
}

/** Chosen files run one after another, engine after engine. */
async function runInBrowsers(engines, filters) {
  const outcomes = [];
  for (const engine of engines) outcomes.push(await runInBrowser(engine, filters.length > 0 ? filters : measuring));
  if (filters.length > 0) return outcomes;
  const rest = await Promise.all(engines.map((engine, index) => runRest(engine, index > 0)));
  return outcomes.map((measured, index) => sumOf([measured, rest[index]]));
}

/** Runs everything that does not measure. */
async function runRest(engine, isShownLater) {
  const elsewhere = engine === 'chromium' ? [] : inChromiumOnly;
  const others = [...(sideBySide[engine] ?? []), ...without([...measuring, ...waiting, ...elsewhere])];
  return sumOf(await Promise.all([runInBrowser(engine, others, isShownLater), runInBrowser(engine, waiting, true)]));
}

function runInBrowser(engine, vitestArguments, isShownLater = false) {
  const common = ['--config', 'test/browser/vitest.config.ts', '--reporter=./test/browser/second-attempts.ts'];
  return runTests(`tests in ${engine}`, [...common, ...vitestArguments], {
    isShownLater,
    variables: { SETTEE_BROWSERS: engine, ...(chromiumFeatures && { SETTEE_CHROMIUM_FEATURES: chromiumFeatures }) },
  });
}

function without(files) {
  return files.map((file) => `--exclude=${file}`);
}

/** Combines runs of one name into one. */
function sumOf(outcomes) {
  return outcomes.reduce((total, { passed, failed, skipped, failures }) => ({
    name: total.name,
    passed: total.passed + passed,
    failed: total.failed + failed,
    skipped: total.skipped + skipped,
    failures: [...total.failures, ...failures],
  }));
}

/** Runs a tool from node_modules, whose output is shown only when it fails. */
function check({ name, command: [script, ...toolArguments] }) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [join(root, 'node_modules', script), ...toolArguments],
    {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
    },
  );
  const ok = status === 0;
  if (!ok) process.stdout.write(`${stdout}${stderr}`);
  return { name, passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0, failures: ok ? [] : ['see above'] };
}

async function runTests(name, testArguments, options = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'settee-test-'));
  const outputFile = join(folder, 'report.json');
  const stuckRun = '--reporter=./test/support/stuck-run.ts';
  const reporters = ['--reporter=dot', stuckRun, '--reporter=json', `--outputFile.json=${outputFile}`];
  const ok = await runVitest(['run', ...reporters, ...testArguments], options);
  const counts = readReport(outputFile);
  rmSync(folder, { recursive: true, force: true });
  // Errors outside of any test (an unhandled rejection, a worker that died) fail the run, so they must show here.
  if (!ok && counts.failed === 0) {
    counts.failed = 1;
    counts.failures = ['an error outside of any test: see above'];
  }
  return { name, ...counts };
}

/** A file that can't even be loaded has no tests in the report; it counts as one failed test. */
function readReport(file) {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8'));
    const failures = report.testResults.flatMap(describeFailures);
    return {
      passed: report.numPassedTests,
      failed: failures.length,
      skipped: report.numPendingTests + report.numTodoTests,
      failures,
    };
  } catch (error) {
    return { passed: 0, failed: 1, skipped: 0, failures: [`vitest left no readable report: ${error.message}`] };
  }
}

/** A line for each failed test of a file, and one for a file that failed by itself. */
function describeFailures({ name, status, message, assertionResults }) {
  const describe = (test, reason) => `${relative(root, name)}: ${test}${firstLine(reason)}`;
  const failed = assertionResults.filter((assertion) => assertion.status === 'failed');
  if (failed.length === 0 && status === 'failed') return [describe("can't be run: ", message)];
  return failed.map(({ fullName, failureMessages }) => describe(`${fullName}: `, failureMessages[0]));
}

function firstLine(text = '') {
  return text.trim().split('\n', 1)[0].slice(0, 300);
}

/** If another run is in progress beside it, its output is shown at its end. */
async function runVitest(vitestArguments, { variables = {}, isShownLater = false }) {
  const output = isShownLater ? 'pipe' : 'inherit';
  const vitest = spawn(process.execPath, [join(root, 'node_modules/vitest/vitest.mjs'), ...vitestArguments], {
    cwd: root,
    stdio: ['ignore', output, output],
    env: {
      ...(process.stdout.isTTY ? {} : { NO_COLOR: '1' }),
      ...(long === undefined ? {} : { SETTEE_LONG: '1' }),
      ...process.env,
      ...variables,
    },
  });
  const printed = [];
  for (const stream of [vitest.stdout, vitest.stderr]) stream?.on('data', (chunk) => printed.push(chunk));
  const [code] = await once(vitest, 'close');
  for (const chunk of printed) process.stdout.write(chunk);
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
