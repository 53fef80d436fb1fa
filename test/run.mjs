/**
 * `npm test`: type checks of every environment, format and lint, then all tests, those in a browser in Chromium. Needs
 * nothing but Node and npm; what is missing is installed and built first, Chromium too where this is a Debian and we are
 * root. Each type check and the lint count as one test. The last line is `N passed, N failed`, and the exit code is 1
 * when anything failed.
 *
 * Arguments are passed on to vitest (`npm test -- test/unit/node`, `npm test -- test/browser/bodies`); then only those
 * tests run, with no checks before. `npm run test:browsers` is this with `--browsers=firefox,webkit`: only the tests in
 * browsers, in those.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { build, checkNode, install, PreparationError, root } from '../src/node/prepare.mjs';

const checks = [
  ...findProjects().map((folder) => ({
    name: `types in ${folder}`,
    command: ['typescript/bin/tsc', '-p', `${folder}/tsconfig.json`],
  })),
  { name: 'format and lint', command: ['@biomejs/biome/bin/biome', 'check', '--error-on-warnings'] },
];

checkNode();
const option = '--browsers=';
const browsers = process.argv.find((argument) => argument.startsWith(option))?.slice(option.length);
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith(option));
report(isPrepared() ? runAll(chosen) : [{ name: 'install and build', passed: 0, failed: 1, skipped: 0 }]);

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

function runAll(filters) {
  const isOfBrowsers = (filter) => filter.startsWith('test/browser');
  const inBrowsers = filters.filter(isOfBrowsers);
  const others = filters.filter((filter) => !isOfBrowsers(filter));
  if (browsers !== undefined) return runInBrowsers(browsers.split(','), inBrowsers);
  if (filters.length === 0) return [...checks.map(check), runTests('tests', []), ...runInBrowsers(['chromium'], [])];
  return [
    ...(others.length > 0 ? [runTests('tests', others)] : []),
    ...(inBrowsers.length > 0 ? runInBrowsers(['chromium'], inBrowsers) : []),
  ];
}

/** One engine after another: each has the machine for itself. */
function runInBrowsers(engines, filters) {
  const config = ['--config', 'test/browser/vitest.config.ts'];
  return engines.map((engine) => runTests(`tests in ${engine}`, [...config, ...filters], { SETTEE_BROWSERS: engine }));
}

function check({ name, command }) {
  const ok = runTool(command, 'pipe');
  return { name, passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
}

function runTests(name, testArguments, variables = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'settee-test-'));
  const outputFile = join(folder, 'report.json');
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${outputFile}`];
  const ok = runTool(['vitest/vitest.mjs', 'run', ...reporters, ...testArguments], 'inherit', variables);
  const counts = readReport(outputFile);
  rmSync(folder, { recursive: true, force: true });
  // Errors outside of any test (an unhandled rejection, a worker that died) fail the run, so they must show here.
  if (!ok && counts.failed === 0) counts.failed = 1;
  return { name, ...counts };
}

/** A file that can't even be loaded has no tests in the report; it counts as one that failed. */
function readReport(file) {
  try {
    const report = JSON.parse(readFileSync(file, 'utf8'));
    const unloadable = report.testResults.filter(
      (suite) =>
        suite.status === 'failed' && !suite.assertionResults.some((assertion) => assertion.status === 'failed'),
    );
    return {
      passed: report.numPassedTests,
      failed: report.numFailedTests + unloadable.length,
      skipped: report.numPendingTests + report.numTodoTests,
    };
  } catch (error) {
    process.stdout.write(`vitest left no readable report: ${error.message}\n`);
    return { passed: 0, failed: 1, skipped: 0 };
  }
}

/** Runs a tool from node_modules; with 'pipe' its output is shown only when it fails. */
function runTool([script, ...toolArguments], output, variables = {}) {
  const command = [join(root, 'node_modules', script), ...toolArguments];
  const result = spawnSync(process.execPath, command, {
    cwd: root,
    stdio: ['ignore', output, output],
    env: { ...process.env, ...variables },
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  if (result.status !== 0 && output === 'pipe') process.stdout.write(`${result.stdout}${result.stderr}`);
  return result.status === 0;
}

function report(outcomes) {
  const width = Math.max(...outcomes.map(({ name }) => name.length));
  for (const { name, passed, failed, skipped } of outcomes) {
    const note = skipped > 0 ? `, ${skipped} skipped` : '';
    process.stdout.write(
      `${failed > 0 ? '✗' : '✓'} ${name.padEnd(width)}  ${passed} passed, ${failed} failed${note}\n`,
    );
  }
  const sum = (key) => outcomes.reduce((total, outcome) => total + outcome[key], 0);
  process.stdout.write(`${sum('passed')} passed, ${sum('failed')} failed\n`);
  process.exitCode = sum('failed') > 0 ? 1 : 0;
}
