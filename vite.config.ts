import { defineConfig } from 'vitest/config';

/**
 * `vite build --ssr src/node/main.ts` makes the Node host: one file, so that a running server never looks for a chunk that a later
 * build replaced. Dependencies stay outside and are loaded from node_modules.
 */
export default defineConfig({
  build: {
    ssr: true,
    outDir: 'dist/node',
    target: 'node20',
    sourcemap: true,
    rolldownOptions: { output: { entryFileNames: 'main.js', codeSplitting: false } },
  },
  test: {
    include: ['test/{unit,property,conformance,fault}/**/*.test.ts'],
    testTimeout: 30_000,
    pool: 'forks',
  },
});
