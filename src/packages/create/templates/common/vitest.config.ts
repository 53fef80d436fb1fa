import { defineConfig } from 'vitest/config';

// Without the plugins of vite.config.ts: the tests run on Node, and load no page.
export default defineConfig({ test: { include: ['test/**/*.test.ts'] } });
