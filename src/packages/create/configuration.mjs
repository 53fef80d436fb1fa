/** The files of an app that depend on the choices line by line. */
import { pathToFileURL } from 'node:url';
import { FRAMEWORKS, TOOLS } from './frameworks.mjs';

/** The address of the server during development and for `npm run preview`, from the page's point of view. */
const PROXY = `
// The server of \`npm run server\`, at the app's own address: its cookies and requests need no CORS.
const proxy = {
  '/server': { target: 'http://127.0.0.1:5984', rewrite: (path: string) => path.replace(/^\\/server/, '') },
};
`;

/** A database for each user, and sessions of 30 days. */
const SERVE = [
  'settee serve --data server-data',
  ...['couch_peruser/enable=true', 'svc_httpd_auth/allow_persistent_cookies=true', 'svc_httpd_auth/timeout=2592000'],
].join(' --set ');

export function packageJson({ name, framework, server, version, setteePath, setteeServerPath }) {
  const { check, dependencies, devDependencies } = FRAMEWORKS[framework];
  const ofServer = server && { 'settee-server': sourceOf(setteeServerPath, version) };
  const manifest = {
    name,
    private: true,
    version: '0.0.0',
    type: 'module',
    scripts: {
      dev: 'vite',
      build: 'vite build',
      preview: 'vite preview',
      test: 'vitest run',
      check,
      ...(server && { server: SERVE, 'server:admin': 'node server/make-admin.mjs' }),
    },
    dependencies: sorted({ settee: sourceOf(setteePath, version), ...ofServer, ...dependencies }),
    devDependencies: sorted({ ...TOOLS, ...devDependencies }),
  };
  return `${JSON.stringify(manifest, null, 2)}\n`;
}

export function viteConfig({ framework, server }) {
  const { plugin } = FRAMEWORKS[framework];
  const imports = [plugin?.import, "import { settee } from 'settee/vite';", "import { defineConfig } from 'vite';"];
  const plugins = [plugin?.call, "settee({ base: '/db/', precache: true })"].filter((call) => call !== undefined);
  return `${imports.filter((line) => line !== undefined).join('\n')}
${server ? PROXY : ''}
export default defineConfig({
  plugins: [${plugins.join(', ')}],
  build: { target: 'es2022' },
${server ? '  server: { proxy },\n  preview: { proxy },\n' : ''}});
`;
}

export function tsConfig({ framework }) {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2023',
    lib: ['es2023', 'dom', 'dom.iterable', 'dom.asynciterable', 'esnext.disposable'],
    module: 'esnext',
    moduleResolution: 'bundler',
    verbatimModuleSyntax: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: true,
    types: ['vite/client'],
    ...FRAMEWORKS[framework].compilerOptions,
  };
  return `${JSON.stringify({ compilerOptions, include: ['src', 'test', '*.config.ts'] }, null, 2)}\n`;
}

/** As npm writes it: a path with slashes, on Windows too, and only what a URL can't have in it is left as it is. */
function sourceOf(path, version) {
  return path === undefined
    ? `^${version}`
    : `file:${decodeURIComponent(pathToFileURL(path).pathname).replace(/^\/(?=[A-Za-z]:)/, '')}`;
}

function sorted(packages) {
  return Object.fromEntries(Object.entries(packages).sort(([one], [other]) => (one < other ? -1 : 1)));
}
