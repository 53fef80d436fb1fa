/**
 * `npm run docs` serves the documentation site while its pages are written, and shows each change at once; `npm run docs:build` makes
 * files for any static server, in `dist/site`. Both install the packages of the site when they are missing: nothing else needs them.
 */
import { spawnSync } from 'node:child_process';
import { join, relative } from 'node:path';
import { build, checkNode, install, PreparationError, root } from '../../src/node/prepare.mjs';

const folder = join(root, 'docs', 'site');
const [command = 'serve', ...rest] = process.argv.slice(2);

checkNode();
process.exitCode = prepare() ? run(command) : 1;

function prepare() {
  try {
    // Examples run in the pages, against Settee as it is built for browsers.
    install();
    build();
    process.stderr.write('The documentation site, with packages of its own (docs/site/package.json):\n');
    install(folder);
    return true;
  } catch (error) {
    if (!(error instanceof PreparationError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return false;
  }
}

function run(name) {
  const vitepress = [
    join(folder, 'node_modules/vitepress/bin/vitepress.js'),
    name === 'build' ? 'build' : 'dev',
    folder,
    ...rest,
  ];
  const env = name === 'build' ? { ...process.env, NODE_ENV: 'production' } : process.env;
  const { status } = spawnSync(process.execPath, vitepress, { cwd: folder, stdio: 'inherit', env });
  if (name === 'build' && status === 0)
    process.stderr.write(`The site is in ${relative(process.cwd(), join(root, 'dist/site'))}\n`);
  return status ?? 1;
}
