/**
 * `npm run build`, and what `npm pack` runs first, also in a fresh clone: installs and builds what is missing, writes the declarations of
 * the browser's package, which is the repository's root, and assembles two more in `dist/packages`: `settee-server` and `create-settee`. Plain
 * JavaScript, because it runs before anything is installed. All its messages go to stderr: stdout belongs to `npm pack`.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { build, checkNode, install, PreparationError, root } from '../../node/prepare.mjs';

/** The folders below `src` with entries that have types. */
const TYPED = [
  'browser/client',
  'packages/database-client',
  'packages/transfer',
  'browser/sw',
  'packages/vite',
  'browser/msw',
  'packages/frameworks',
];

/** The names of the entries in a folder that has several. */
const ENTRIES = { 'packages/frameworks': ['react', 'solid', 'svelte', 'tanstack', 'vue'] };

try {
  checkNode();
  install();
  build();
  writeDeclarations(join(root, 'dist', 'types'));
  assembleServer(join(root, 'dist', 'packages', 'settee-server'));
  assembleStarter(join(root, 'dist', 'packages', 'create-settee'));
} catch (error) {
  if (!(error instanceof PreparationError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}

/** Keeps only the declarations that those of the entries name; the compiler writes one for every imported file. */
function writeDeclarations(target) {
  const staging = `${target}-${process.pid}`;
  try {
    for (const entry of TYPED) compile(join(root, 'src', entry, 'tsconfig.types.json'), staging);
    const kept = new Set();
    for (const folder of TYPED)
      for (const entry of ENTRIES[folder] ?? ['index'])
        keepReachable(join(staging, 'src', folder, `${entry}.d.ts`), kept);
    for (const file of filesBelow(staging)) if (!kept.has(file)) rmSync(file);
    rmSync(target, { recursive: true, force: true });
    renameSync(staging, target);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function compile(project, outDir) {
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const { status } = spawnSync(process.execPath, [compiler, '-p', project, '--outDir', outDir], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new PreparationError('The declarations could not be made; the compiler says why above.');
}

/** Declarations name each other by their source files, which only the compiler resolves; this rewrites the names for the package. */
function keepReachable(file, kept) {
  if (kept.has(file)) return;
  kept.add(file);
  const text = readFileSync(file, 'utf8');
  const specifier = /((?:from|import\()\s*')(\.[^']*)\.ts(')/g;
  for (const [, , path] of text.matchAll(specifier)) keepReachable(join(dirname(file), `${path}.d.ts`), kept);
  writeFileSync(file, text.replaceAll(specifier, '$1$2.js$3'));
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Everything that is built, its start scripts, and the pages of the documentation, each where the links between them expect it. */
function assembleServer(target) {
  rmSync(target, { recursive: true, force: true });
  const copy = (source, name = source) => {
    mkdirSync(dirname(join(target, name)), { recursive: true });
    // Pages of a package show the texts of their pictures instead, which would be larger than the code. The site is made in a clone.
    const filter = (path) => ![join(root, 'docs', 'pictures'), join(root, 'docs', 'site')].includes(path);
    cpSync(join(root, source), join(target, name), { recursive: true, filter });
  };
  const manifest = JSON.parse(readFileSync(join(root, 'src/node/package.json'), 'utf8'));
  copy('src/node/command.mjs', 'command.mjs');
  copy('src/node/check-node.mjs', 'check-node.mjs');
  const built = join(root, 'dist', 'node');
  for (const file of filesBelow(built)) if (!file.endsWith('.map')) copy(relative(root, file), relative(built, file));
  writeFileSync(join(target, 'opentelemetry.d.ts'), 'export {};\n');
  copy('dist/utils', 'utils');
  for (const page of ['README.md', 'CHANGELOG.md', 'LICENSE', 'docs', 'src/README.md']) copy(page);
  const text = JSON.stringify({ ...manifest, bin: { settee: 'command.mjs' } }, null, 2);
  writeFileSync(join(target, 'package.json'), `${text}\n`);
}

/** The command that makes apps, with its templates. Declarations are for the tests of this repository. */
function assembleStarter(target) {
  rmSync(target, { recursive: true, force: true });
  const filter = (path) => !path.endsWith('.d.mts');
  cpSync(join(root, 'src', 'packages', 'create'), target, { recursive: true, filter });
  cpSync(join(root, 'LICENSE'), join(target, 'LICENSE'));
}
