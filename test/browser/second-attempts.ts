import type { Reporter, TestCase } from 'vitest/node';

/** Names the tests that passed at their second attempt, with what stopped the first: once is a browser's mood, twice is a fault of ours. */
export default class SecondAttempts implements Reporter {
  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return;
    const [error] = test.result().errors ?? [];
    const reason = error === undefined ? '' : `: ${error.message.split('\n', 1)[0]}`;
    console.info(`✓ at the second attempt: ${test.module.moduleId}: ${test.fullName}${reason}`);
  }
}
