/** Builds the administration page into `dist/utils`: static files that any server of the family can serve at `/_utils/`. */
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

function inRoom(name: string): string {
  return fileURLToPath(new URL(`../../admin/${name}`, import.meta.url));
}

export default defineConfig({
  root: inRoom(''),
  // Relative, since the page may lie below any base.
  base: './',
  build: {
    outDir: fileURLToPath(new URL('../../../dist/utils', import.meta.url)),
    emptyOutDir: true,
    target: ['chrome111', 'firefox114', 'safari16.4'],
    // Names with a hash of their content: they can be cached forever.
    assetsDir: 'assets',
    // The second is where servers of the family send those who have to log in first.
    rolldownOptions: { input: ['index.html', 'session.html'].map(inRoom) },
    modulePreload: { polyfill: false },
    sourcemap: false,
    cssMinify: true,
  },
});
