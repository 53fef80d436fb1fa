import { writeFileSync } from 'node:fs';
import type { Reporter, TestModule } from 'vitest/node';

/** What came of the tests of a project. */
interface Outcome {
  passed: number;
  failed: number;
  skipped: number;
  /** A line for each failure. */
  readonly failures: string[];
}

/** Leaves the outcome of each project, by its name, in the file that `SETTEE_OUTCOMES` names, for `test/run.mjs`. */
export default class Outcomes implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const outcomes: Record<string, Outcome> = {};
    for (const module of modules) {
      outcomes[module.project.name] ??= { passed: 0, failed: 0, skipped: 0, failures: [] };
      const outcome = outcomes[module.project.name];
      if (outcome !== undefined) count(module, outcome);
    }
    const file = process.env['SETTEE_OUTCOMES'];
    if (file !== undefined) writeFileSync(file, JSON.stringify(outcomes));
  }
}

function count(module: TestModule, outcome: Outcome): void {
  const { failed } = outcome;
  for (const test of module.children.allTests()) {
    const { state, errors } = test.result();
    if (state === 'passed') outcome.passed += 1;
    else if (state === 'failed') fail(outcome, module, test.fullName, errors[0]?.message);
    else outcome.skipped += 1;
  }
  // A file that can't be loaded has no tests, and the tests of a suite whose preparation fails are skipped.
  if (module.state() !== 'failed' || outcome.failed > failed) return;
  const errors = [module, ...module.children.allSuites()].flatMap((each) => each.errors());
  fail(outcome, module, "can't be run", errors[0]?.message);
}

function fail(outcome: Outcome, module: TestModule, what: string, reason = ''): void {
  outcome.failed += 1;
  const [firstLine = ''] = reason.trim().split('\n', 1);
  outcome.failures.push(`${module.relativeModuleId}: ${what}: ${firstLine.slice(0, 300)}`);
}
