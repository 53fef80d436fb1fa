import { defineConfig } from 'vitest/config';
import { sandboxProgram } from '../../src/packages/build/sandbox-program.ts';
import { patient } from '../support/patience.ts';

/** `npm run test:integrations`: Settee with packages of others, which are installed beside these tests only. */
export default defineConfig({
  plugins: [sandboxProgram(`${import.meta.dirname}/../../src/queries/sandbox/runtime/main.ts`)],
  test: {
    root: `${import.meta.dirname}/../..`,
    include: ['test/integrations/**/*.test.ts'],
    exclude: ['**/node_modules/**'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    expect: { poll: patient },
    fileParallelism: false,
    pool: 'forks',
  },
});
