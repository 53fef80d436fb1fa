/**
 * Builds the administration page into `dist/utils`: static files that any server of the family can serve at `/_utils/`, and
 * `settee-sw-utils.js`, with which a service worker serves them.
 */
import { createHash } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { build, defineConfig, type Plugin } from 'vite';

function fromRoot(name: string): string {
  return fileURLToPath(new URL(`../../../${name}`, import.meta.url));
}

const target = ['chrome111', 'firefox114', 'safari16.4'];

export default defineConfig({
  root: fromRoot('src/admin'),
  // Relative, since the page may lie below any base.
  base: './',
  plugins: [serviceWorkerScript()],
  build: {
    outDir: fromRoot('dist/utils'),
    emptyOutDir: true,
    target,
    // Names with a hash of their content: they can be cached forever.
    assetsDir: 'assets',
    // The second is where servers of the family send those who have to log in first.
    rolldownOptions: { input: ['index.html', 'session.html'].map((name) => fromRoot(`src/admin/${name}`)) },
    modulePreload: { polyfill: false },
    sourcemap: false,
    cssMinify: true,
  },
});

/** Emits the script, which contains the HTML and the names of all other files. The tags are those of the server on Node. */
function serviceWorkerScript(): Plugin {
  return {
    name: 'service-worker-script',
    enforce: 'post',
    generateBundle: {
      order: 'post',
      async handler(_options, bundle) {
        const pages: Record<string, { text: string; tag: string }> = {};
        const assets: Record<string, string> = {};
        for (const name of Object.keys(bundle).sort()) {
          const file = bundle[name];
          if (file === undefined) continue;
          const content = file.type === 'chunk' ? file.code : file.source;
          const tag = hashOf(content);
          if (name.endsWith('.html')) pages[name] = { text: String(content), tag };
          else assets[name] = tag;
        }
        const version = hashOf(JSON.stringify([pages, assets]));
        const source = await bundleScript(JSON.stringify({ version, pages, assets }));
        this.emitFile({ type: 'asset', fileName: 'settee-sw-utils.js', source });
      },
    },
  };
}

async function bundleScript(page: string): Promise<string> {
  const entry = fromRoot('sw/settee-sw-utils.ts');
  const result = await build({
    configFile: false,
    logLevel: 'warn',
    define: { __BUILT_PAGE__: page },
    build: { write: false, target, minify: true, rolldownOptions: { input: entry, output: { format: 'iife' } } },
  });
  const [chunk] = 'output' in result ? result.output : [];
  if (chunk === undefined) throw new Error(`${entry} makes no file.`);
  return chunk.code;
}

function hashOf(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 16);
}
