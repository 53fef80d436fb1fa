/** Builds of other commits, each in a folder of its own below dist/bench/builds, which is kept for the next run. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root } from '../../../src/node/prepare.mjs';

/**
 * The build of `ref`, any name that git has for a commit. Gives `{ commit, main, browser }`: the short name of the commit, the file of
 * its command (dist/node/main.js), and the folder of its files for browsers. The first time it checks the commit out, installs what its package-lock.json asks for, and builds.
 */
export function buildOf(ref) {
  const commit = git('rev-parse', '--short=10', '--verify', `${ref}^{commit}`);
  const folder = join(root, 'dist', 'bench', 'builds', commit);
  const main = join(folder, 'dist', 'node', 'main.js');
  const built = { commit, main, browser: join(folder, 'dist', 'browser') };
  if (existsSync(main)) return built;
  process.stderr.write(`building ${commit} …\n`);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 1024 ** 3 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  const prepare = pathToFileURL(join(folder, 'src', 'node', 'prepare.mjs')).href;
  const code = `const { install, build } = await import(${JSON.stringify(prepare)}); install(); build();`;
  const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) throw new Error(`${ref} (${commit}) could not be built; the reason stands above.`);
  return built;
}

function git(...gitArguments) {
  return execFileSync('git', gitArguments, { cwd: root, encoding: 'utf8' }).trim();
}
