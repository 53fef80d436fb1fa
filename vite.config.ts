import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/{unit,property,conformance,fault}/**/*.test.ts'],
    testTimeout: 30_000,
    pool: 'forks',
  },
});
