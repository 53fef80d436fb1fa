import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

export const root = join(import.meta.dirname, '../../../..');

/** Gives what it prints on stdout. Throws with everything that it prints. */
export function run(program: string, options: readonly string[], cwd = root): string {
  try {
    return execFileSync(program, options, {
      cwd,
      encoding: 'utf8',
      stdio: 'pipe',
      shell: program === 'npm' && process.platform === 'win32',
    });
  } catch (error) {
    throw new Error(
      error instanceof Error && 'stdout' in error ? `${error.message}\n${String(error.stdout)}` : String(error),
    );
  }
}

/** Packs the package in `source`, a folder of the repository. Returns the file in `folder`. */
export function pack(source: string, folder: string): string {
  const text = run('npm', ['pack', source, '--json', '--ignore-scripts', '--pack-destination', folder]);
  const packed: unknown = JSON.parse(text);
  const [first] = Array.isArray(packed) ? packed : Object.values(Object(packed));
  return join(folder, String(first.filename));
}

/** All files below a folder, from there, with slashes. */
export function filesOf(where: string): string[] {
  return readdirSync(where, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(where, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .sort();
}
