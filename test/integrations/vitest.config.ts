import { defineConfig } from 'vitest/config';
import { sandboxProgram } from '../../src/packages/build/sandbox-program.ts';

/** `npm run test:integrations`: Settee with packages of others, which are installed beside these tests only. */
export default defineConfig({
  plugins: [sandboxProgram(`${import.meta.dirname}/../../src/queries/sandbox/runtime/main.ts`)],
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/integrations/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    fileParallelism: false,
    pool: 'forks',
  },
});
