/** Files of the site that VitePress does not make: Settee itself, what examples load, pictures, and files of the repository that pages link to. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, extname, join } from 'node:path';
import { toBulkBody } from './countries.mjs';
import { readFileOf } from './links.mjs';
import { repository } from './pages.mjs';
import { interfaceBlocks } from './runnable.mjs';

/** From addresses below the site's root to files of the repository. */
const files = new Map([
  ['icon.svg', 'public/favicon.svg'],
  ...filesIn('docs/pictures').map((name) => [`pictures/${name}`, `docs/pictures/${name}`]),
  ...filesIn('dist/browser')
    .filter((name) => /\.(js|wasm)$/.test(name) && !name.startsWith('settee-sw'))
    .map((name) => [`settee/${name}`, `dist/browser/${name}`]),
]);

/** Made of files of the repository. */
const made = new Map([
  [
    'data/countries.json',
    () => toBulkBody(readFileSync(join(repository, 'node_modules/world-countries/dist/countries.json'), 'utf8')),
  ],
  ['data/http.json', () => JSON.stringify(interfaceBlocks())],
]);

const types = {
  '.js': 'text/javascript',
  '.wasm': 'application/wasm',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
};

function filesIn(folder) {
  return readdirSync(join(repository, folder));
}

/** Gives undefined if there is no such file. */
function read(address) {
  const path = files.get(address.slice(1));
  const make = made.get(address.slice(1));
  if (make !== undefined) return make();
  return path === undefined ? readFileOf(address) : readFileSync(join(repository, path));
}

/** Copies the files into a built site, and those of the repository at these addresses. */
export function addFiles(folder, linked) {
  for (const address of [...[...files.keys(), ...made.keys()].map((one) => `/${one}`), ...linked]) {
    const file = join(folder, address);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, read(address));
  }
}

/** Serves the files during development. */
export function servedFiles() {
  return {
    name: 'files-of-the-repository',
    configureServer(server) {
      server.middlewares.use((request, response, next) => {
        const { pathname } = new URL(request.url ?? '/', 'http://site');
        const body = read(pathname);
        if (body === undefined) return next();
        response.setHeader('content-type', types[extname(pathname)] ?? 'application/octet-stream');
        response.end(body);
      });
    },
  };
}

/** Rendering on Node takes Vue from the packages of the site, where Vite does not look for the imports of pages. */
export function vueOfTheSite() {
  return {
    name: 'vue-of-the-site',
    enforce: 'pre',
    resolveId(id, _importer, { ssr }) {
      return ssr && /^vue(\/server-renderer)?$/.test(id) ? { id, external: true } : undefined;
    },
  };
}
