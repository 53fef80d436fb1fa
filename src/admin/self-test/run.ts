/** The checks that run, and what the last ones found. Both stay while other screens are shown, until the page is closed. */
import { signal } from '@preact/signals';
import { ServerError } from '../server/client.ts';
import { AbsentError, CHECKS, type Check, type CheckResult } from './checks.ts';
import { withScratch } from './scratch.ts';

export interface SelfTestRun {
  readonly results: readonly CheckResult[];
  readonly isRunning: boolean;
  /** Why it was broken off. */
  readonly failure: unknown;
  /** When the last result was found: milliseconds since the epoch. Undefined: there is none. */
  readonly at: number | undefined;
}

export const selfTest = signal<SelfTestRun>({ results: [], isRunning: false, failure: undefined, at: undefined });

/** Runs all checks, one after the other. What fails is in `selfTest`. */
export async function runChecks(): Promise<void> {
  if (selfTest.value.isRunning) return;
  selfTest.value = { results: [], isRunning: true, failure: undefined, at: undefined };
  try {
    for (const check of CHECKS) {
      const result = await runCheck(check);
      const { results } = selfTest.value;
      selfTest.value = { ...selfTest.value, results: [...results, result], at: Date.now() };
    }
  } catch (failure) {
    selfTest.value = { ...selfTest.value, failure };
  } finally {
    selfTest.value = { ...selfTest.value, isRunning: false };
  }
}

/** Fails only if the database can't be created or deleted. */
async function runCheck({ name, run }: Check): Promise<CheckResult> {
  let result: CheckResult = { name, outcome: 'passed', problem: '', tookMs: 0 };
  await withScratch(async (database) => {
    const began = performance.now();
    try {
      await run(database);
      result = { ...result, tookMs: performance.now() - began };
    } catch (error) {
      // Without a server there is nothing to check.
      if (error instanceof ServerError && error.status === 0) throw error;
      const outcome = error instanceof AbsentError ? 'absent' : 'failed';
      result = { name, outcome, problem: problemOf(error), tookMs: performance.now() - began };
    }
  });
  return result;
}

function problemOf(error: unknown): string {
  if (error instanceof ServerError)
    return `${error.request.method} /${error.request.path}: ${error.status} ${error.reason}`;
  return error instanceof Error ? error.message : `${error}`;
}
