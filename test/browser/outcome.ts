/**
 * What a page that runs a suite by itself leaves in the global `suiteOutcome`. The page fills it while it runs, so that a run
 * that gets stuck names the case.
 */
export interface SuiteOutcome {
  isDone: boolean;
  /** The case under way. */
  current: string;
  readonly passed: string[];
  readonly failed: { readonly name: string; readonly message: string }[];
  /** Those that passed at their second attempt, with what stopped the first. */
  readonly passedLater: { readonly name: string; readonly message: string }[];
  readonly skipped: { readonly name: string; readonly reason: string }[];
}

export function newOutcome(): SuiteOutcome {
  return { isDone: false, current: 'nothing yet', passed: [], failed: [], passedLater: [], skipped: [] };
}

/** Runs cases one after another, whatever becomes of each. Tells of each before it begins, and at the end. */
export async function runCases(
  cases: readonly { readonly name: string; run(): Promise<void> }[],
  tell: (outcome: SuiteOutcome) => void,
): Promise<void> {
  const outcome = newOutcome();
  for (const { name, run } of cases) {
    outcome.current = name;
    tell(outcome);
    try {
      await run();
      outcome.passed.push(name);
    } catch (error) {
      outcome.failed.push({ name, message: describeError(error) });
    }
  }
  outcome.isDone = true;
  tell(outcome);
}

/** The name of a case in an outcome: the names of a suite's cases differ from each other, not from those of other suites. */
export function caseName(suite: string, name: string): string {
  return `${suite}: ${name}`;
}

/** Message and stack: not every engine's stack begins with the message. */
export function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const stack = error.stack ?? '';
  return stack.includes(error.message) ? stack : `${error}\n${stack}`;
}
