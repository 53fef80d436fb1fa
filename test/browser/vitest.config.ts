import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { sandboxProgram } from '../../src/packages/build/sandbox-program.ts';

/** The longest first: where two run at a time (test/run.mjs), none of them is left to run alone at the end. */
const longest = ['http-conformance-fetch', 'http-conformance', 'faults-service-worker', 'tabs', 'bodies'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => rankOf(one) - rankOf(other));
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const rank = longest.findIndex((name) => moduleId.includes(`/${name}`));
  return rank < 0 ? longest.length : rank;
}

/** The tests that drive browsers: one file after another but where `test/run.mjs` says otherwise, since some measure how soon things happen. */
export default defineConfig({
  // Of the Node server, with which pages exchange documents.
  plugins: [sandboxProgram(`${import.meta.dirname}/../../src/queries/sandbox/runtime/main.ts`)],
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/browser/**/*.test.ts'],
    globalSetup: `${import.meta.dirname}/global-setup.ts`,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // A browser, or what drives it, now and then loses an answer. What fails in any other way fails at once. See second-attempts.ts.
    retry: { count: 1, condition: /^Test timed out in/ },
    fileParallelism: false,
    // No module keeps anything, and loading the drivers anew for each file takes a second of a processor.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    // Those that do run at once only wait.
    maxConcurrency: 20,
    pool: 'forks',
  },
});
