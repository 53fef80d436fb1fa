import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build, defaultClientConditions, type PreviewServer, preview } from 'vite';
import type * as plugin from '../../src/packages/vite/index.ts';
import { sveltePlugin } from './svelte-plugin.mjs';

const root = join(import.meta.dirname, '../..');

/** As an app that has installed the package. */
const alias = [
  { find: /^settee$/, replacement: join(root, 'dist/browser/settee.js') },
  { find: 'settee/database', replacement: join(root, 'dist/browser/settee-database.js') },
  ...['react', 'vue', 'svelte', 'solid', 'tanstack'].map((name) => ({
    find: `settee/${name}`,
    replacement: join(root, `dist/library/${name}.js`),
  })),
];

/** The frameworks are those beside these tests, also for what `dist/library` imports. */
const dedupe = ['react', 'react-dom', 'vue', 'svelte', 'solid-js'];

/** Builds the apps with these names, each a page of its own, and serves them until `close`. */
export async function serveApps(names: readonly string[]): Promise<{ url: string; close(): Promise<void> }> {
  const outDir = await mkdtemp(join(tmpdir(), 'settee-apps-'));
  const apps = join(import.meta.dirname, 'apps');
  // The built one, beside the files that it serves.
  const { settee }: typeof plugin = await import(pathToFileURL(join(root, 'dist/library/vite.js')).href);
  const common = { configFile: false, root: apps, logLevel: 'warn' } as const;
  await build({
    ...common,
    plugins: [sveltePlugin('client'), settee({ base: '/db/' })],
    // The library of TanStack DB for Svelte is for bundlers that compile it.
    resolve: { alias, dedupe, conditions: ['svelte', ...defaultClientConditions] },
    define: {
      __VUE_OPTIONS_API__: 'false',
      __VUE_PROD_DEVTOOLS__: 'false',
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
    },
    build: {
      outDir,
      emptyOutDir: true,
      target: 'es2023',
      rolldownOptions: { input: names.map((name) => join(apps, `${name}.html`)) },
    },
  });
  const server: PreviewServer = await preview({ ...common, build: { outDir }, preview: { port: 0, strictPort: true } });
  const [url = ''] = server.resolvedUrls?.local ?? [];
  const close = async () => {
    await server.close();
    await rm(outDir, { recursive: true, force: true });
  };
  return { url, close };
}

/** Builds a module of `apps` for Node, and loads it beside the frameworks that it imports. */
export async function buildForServer(
  entry: string,
): Promise<{ load(): Promise<object & { renderers?: unknown }>; remove(): Promise<void> }> {
  const outDir = await mkdtemp(join(import.meta.dirname, 'node_modules/.built-'));
  const apps = join(import.meta.dirname, 'apps');
  await build({
    configFile: false,
    root: apps,
    logLevel: 'warn',
    plugins: [sveltePlugin('server')],
    resolve: { alias },
    ssr: { noExternal: [/^settee/] },
    build: {
      outDir,
      ssr: true,
      target: 'node20',
      rolldownOptions: { input: join(apps, entry), external: [/^(react|react-dom|vue|svelte|solid-js)(\/|$)/] },
    },
  });
  const [file = ''] = (await readdir(outDir)).filter((name) => /\.m?js$/.test(name));
  return {
    load: () => import(pathToFileURL(join(outDir, file)).href),
    remove: () => rm(outDir, { recursive: true, force: true }),
  };
}
