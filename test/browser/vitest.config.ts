import { defineConfig } from 'vitest/config';

/** The tests that drive browsers: one file after another, since they measure how soon things happen. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/browser/**/*.test.ts'],
    globalSetup: `${import.meta.dirname}/global-setup.ts`,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    fileParallelism: false,
    pool: 'forks',
  },
});
