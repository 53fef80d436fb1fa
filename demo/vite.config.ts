/** How the demo is built, like any app that uses Settee: `npx vite build demo` makes `dist/demo`, `npx vite demo` serves it from its sources. */
import { fileURLToPath } from 'node:url';
import { settee } from 'settee/vite';
import { defineConfig } from 'vite';
import { demoData, demoDocumentation, shellList } from './build/plugin.ts';

const path = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** Icon and manifest: copied into the build as they are. */
const publicDir = path('../public');

export default defineConfig({
  root: path('.'),
  publicDir,
  // Works like the demo's own server, while `npm start` runs alongside.
  server: {
    proxy: { '/server': { target: 'http://127.0.0.1:5984', rewrite: (address) => address.replace('/server', '') } },
  },
  plugins: [settee({ base: '/db/', utils: true }), demoData(), demoDocumentation(), shellList(publicDir)],
  build: {
    outDir: path('../dist/demo'),
    emptyOutDir: true,
    target: ['chrome111', 'firefox114', 'safari16.4'],
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // Most of the time is spent on the data.
      checks: { pluginTimings: false },
      input: { index: path('./index.html'), sw: path('./sw/sw.ts') },
      output: {
        // A service worker keeps one address forever.
        entryFileNames: ({ name }) => (name === 'sw' ? 'sw.js' : 'assets/[name]-[hash].js'),
      },
    },
  },
});
