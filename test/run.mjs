/**
 * `npm test`: type checks of every environment, format and lint, then all tests. Needs nothing but Node and npm; what
 * is missing is installed and built first. Each type check and the lint count as one test. The last line is
 * `N passed, N failed`, and the exit code is 1 when anything failed.
 *
 * Arguments are passed on to vitest (`npm test -- test/unit/node`); then only those tests run, with no checks before.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build, checkNode, install, PreparationError, root } from '../src/node/prepare.mjs';

const checks = [
  ...['src', 'src/node', 'test', 'test/unit/storage'].map((folder) => ({
    name: `types in ${folder}`,
    command: ['typescript/bin/tsc', '-p', `${folder}/tsconfig.json`],
  })),
  { name: 'format and lint', command: ['@biomejs/biome/bin/biome', 'check', '--error-on-warnings'] },
];

checkNode();
const chosen = process.argv.slice(2);
report(isPrepared() ? runAll(chosen) : [{ name: 'install and build', passed: 0, failed: 1, skipped: 0 }]);

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
  const checked = filters.length > 0 ? [] : checks.map(check);
  return [...checked, runTests(filters)];
}

function check({ name, command }) {
  const ok = runTool(command, 'pipe');
  return { name, passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0 };
}

function runTests(filters) {
  const folder = mkdtempSync(join(tmpdir(), 'settee-test-'));
  const outputFile = join(folder, 'report.json');
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${outputFile}`];
  const ok = runTool(['vitest/vitest.mjs', 'run', ...reporters, ...filters], 'inherit');
  const counts = readReport(outputFile);
  rmSync(folder, { recursive: true, force: true });
  // Errors outside of any test (an unhandled rejection, a worker that died) fail the run, so they must show here.
  if (!ok && counts.failed === 0) counts.failed = 1;
  return { name: 'tests', ...counts };
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
function runTool([script, ...toolArguments], output) {
  const command = [join(root, 'node_modules', script), ...toolArguments];
  const result = spawnSync(process.execPath, command, {
    cwd: root,
    stdio: ['ignore', output, output],
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
