/**
 * Makes a clone of the repository ready to run: checks Node's version, installs what package-lock.json asks for, builds
 * when a source is newer than the build. Each step costs a few milliseconds when there is nothing to do. Plain
 * JavaScript without dependencies, because it runs before there are any. All its messages go to stderr.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PreparationError } from './check-node.mjs';

export { checkNode, PreparationError } from './check-node.mjs';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const builtMain = join(root, 'dist', 'node', 'main.js');

const builtDemo = join(root, 'dist', 'demo', 'index.html');

const sources = ['src', 'sw', 'demo', 'public', 'package.json', 'package-lock.json', 'vite.config.ts'];

/** Installs the dependencies of the package in `folder`, unless exactly those of its package-lock.json are installed already. */
export function install(folder = root) {
  if (isInstalled(folder)) return;
  print('Installing dependencies …');
  const pinned = ['ci', '--no-audit', '--no-fund', '--loglevel=error'];
  // Every native dependency has its binaries in its package; install scripts would only try to compile them.
  const npmArguments = [...pinned, '--ignore-scripts'];
  const npm = process.env.npm_execpath;
  const status =
    npm && /npm-cli\.c?js$/.test(npm)
      ? run(process.execPath, [npm, ...npmArguments], { cwd: folder })
      : run('npm', npmArguments, { cwd: folder, shell: process.platform === 'win32' });
  if (status !== 0) fail('The dependencies could not be installed; the messages of npm above say why.');
}

/** Builds the Node host, the files for browsers (vite.config.ts), the administration page and the demo, unless the build is newer than every source. */
export function build() {
  if (isBuilt()) return;
  print('Building …');
  const staging = join(root, 'dist', `.build-${process.pid}`);
  try {
    runVite(['build', '--app', '--outDir', staging]);
    const main = join(staging, 'node', 'main.js');
    const files = filesBelow(staging).filter((file) => file !== main);
    putInPlace(staging, files);
    runVite(['build', '-c', 'src/packages/build/admin-page.ts', '--outDir', join(staging, 'utils')]);
    rmSync(join(root, 'dist', 'utils'), { recursive: true, force: true });
    putInPlace(staging, filesBelow(join(staging, 'utils')));
    // Like any app, the demo uses the files in dist.
    runVite(['build', 'demo', '--outDir', join(staging, 'demo')]);
    putInPlace(staging, filesBelow(join(staging, 'demo')));
    // Last, because the next start takes its time of change as proof that the build is complete.
    putInPlace(staging, [main]);
  } finally {
    rmSync(staging, { recursive: true, force: true });
  }
}

function runVite(viteArguments) {
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  // Started by a test, which has another NODE_ENV, the demo would be built without the service worker that keeps it for use without a network.
  const env = { ...process.env, NODE_ENV: 'production' };
  const status = run(process.execPath, [vite, ...viteArguments, '--logLevel', 'warn'], { env });
  if (status !== 0) fail('The build failed; the messages above say why.');
}

function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** Moves each file by a rename, so that a process that starts at the same moment finds either the old file or the new one. */
function putInPlace(staging, files) {
  for (const file of files) {
    const target = join(root, 'dist', relative(staging, file));
    mkdirSync(dirname(target), { recursive: true });
    renameSync(file, target);
  }
}

function isInstalled(folder) {
  const wanted = readPackages(join(folder, 'package-lock.json'));
  const present = readPackages(join(folder, 'node_modules', '.package-lock.json'));
  if (!wanted || !present) return false;
  return Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = present[path];
    // npm leaves out the optional packages of other platforms.
    return found ? found.version === entry.version && found.integrity === entry.integrity : entry.optional === true;
  });
}

function readPackages(lockFile) {
  try {
    return JSON.parse(readFileSync(lockFile, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

function isBuilt() {
  const times = [builtMain, builtDemo].map((file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0);
  const builtAt = Math.min(...times);
  return sources.every((source) => newest(join(root, source)) <= builtAt);
}

/** The time of the latest change below a path. The time of a folder also counts, because it changes when a file is removed or renamed. */
function newest(path) {
  const stat = statSync(path);
  if (!stat.isDirectory()) return stat.mtimeMs;
  return readdirSync(path).reduce((latest, name) => Math.max(latest, newest(join(path, name))), stat.mtimeMs);
}

function run(command, commandArguments, options = {}) {
  // The child's output goes to stderr: stdout belongs to the command that the user runs.
  const result = spawnSync(command, commandArguments, { cwd: root, stdio: ['ignore', 2, 2], ...options });
  if (result.error) print(`${command} could not be started: ${result.error.message}`);
  return result.status;
}

function print(message) {
  process.stderr.write(`${message}\n`);
}

function fail(message) {
  throw new PreparationError(message);
}
