import type { Reporter, TestCase } from 'vitest/node';

/** Names the tests that ran out of time and passed at their second attempt: once is a browser's mood, twice is a fault of ours to look for. */
export default class SecondAttempts implements Reporter {
  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true)
      console.info(`✓ at the second attempt: ${test.module.moduleId}: ${test.fullName}`);
  }
}
