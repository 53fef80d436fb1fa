import { defineConfig } from 'vitest/config';
import { patient } from '../support/patience.ts';

/** `npm run test:recipes`: each recipe is done as it says, with today's packages from npm's registry. */
export default defineConfig({
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/recipes/**/*.test.ts'],
    globalSetup: `${import.meta.dirname}/global-setup.ts`,
    // Packages are downloaded, and whole apps built.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    expect: { poll: patient },
    fileParallelism: false,
    pool: 'forks',
  },
});
