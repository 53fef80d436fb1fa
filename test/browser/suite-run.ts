import { type SuiteScope, suitesOf } from '../conformance/http/all.ts';
import type { Host } from '../support/conformance/host.ts';
import { reasonToSkip, runCase } from '../support/conformance/runner.ts';
import { caseName, describeError, type SuiteOutcome } from './outcome.ts';

/**
 * Runs the cases of the HTTP suite, whatever becomes of each, and notes in `outcome` how they ended. `tell` is called before each. `only`: part
 * of the names of those that are to be run.
 */
export async function runHttpSuite(
  host: Host,
  scope: SuiteScope,
  outcome: SuiteOutcome,
  tell: () => void = () => {},
  only = '',
): Promise<void> {
  let number = 0;
  for (const suite of suitesOf(scope)) {
    for (const each of suite.cases) {
      const name = caseName(suite.name, each.name);
      const reason = name.includes(only) ? reasonToSkip(host, each) : 'not asked for';
      if (reason !== undefined) {
        outcome.skipped.push({ name, reason });
        continue;
      }
      outcome.current = name;
      tell();
      // As vitest does with the other tests in browsers: see `retry` in vitest.config.ts.
      const failures: string[] = [];
      while (failures.length < 2 && outcome.passed.at(-1) !== name) {
        await runCase(host, each, ++number).then(
          () => outcome.passed.push(name),
          (error: unknown) => failures.push(describeError(error)),
        );
      }
      const [message] = failures;
      if (message !== undefined) (failures.length < 2 ? outcome.passedLater : outcome.failed).push({ name, message });
    }
  }
  await host.close();
  outcome.isDone = true;
  tell();
}
