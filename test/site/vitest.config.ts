import { defineConfig } from 'vitest/config';
import { patient } from '../support/patience.ts';

/** `npm run test:site`: the documentation site is built, and each of its blocks of code is run in it. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/site/**/*.test.ts'],
    globalSetup: `${import.meta.dirname}/global-setup.ts`,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: patient },
    fileParallelism: false,
    pool: 'forks',
  },
});
