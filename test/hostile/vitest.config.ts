import { defineConfig } from 'vitest/config';

/**
 * What a stranger may try against a running server: `npm run test:hostile`. These tests measure how long others wait and how much memory is
 * taken, so they need a machine that does nothing else, and are no part of `npm test`. Those of what is not mended yet fail.
 */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/hostile/**/*.test.ts'],
    // A table of all of them at the end, also in dist/hostile.md.
    globalSetup: `${import.meta.dirname}/support/figures-table.ts`,
    setupFiles: `${import.meta.dirname}/support/setup-file.ts`,
    testTimeout: 300_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    pool: 'forks',
  },
});
