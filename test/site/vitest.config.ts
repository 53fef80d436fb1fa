import { defineConfig } from 'vitest/config';

/** `npm run test:site`: the documentation site is built, and each of its blocks of code is run in it. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/site/**/*.test.ts'],
    globalSetup: `${import.meta.dirname}/global-setup.ts`,
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    pool: 'forks',
  },
});
