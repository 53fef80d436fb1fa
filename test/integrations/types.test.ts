import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';

const root = join(import.meta.dirname, '../..');
const compiler = join(root, 'node_modules/typescript/bin/tsc');

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(import.meta.dirname, 'node_modules/.types-'));
  for (const part of ['browser/client', 'packages/database-client', 'packages/frameworks'])
    compile('-p', join(root, 'src', part, 'tsconfig.types.json'), '--outDir', join(folder, 'types'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Throws with what the compiler says. */
function compile(...options: string[]): void {
  try {
    execFileSync(process.execPath, [compiler, ...options], { encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    throw new Error(error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error));
  }
}

/** The declarations of the build name those of the frameworks: so they are checked with the real ones. */
const apps = [
  'react.tsx',
  'vue.ts',
  'solid.ts',
  'tanstack-react.tsx',
  'tanstack-vue.ts',
  'tanstack-solid.ts',
  'tanstack-schema.ts',
];

test.each(apps)('the app %s has no error of types', (file) => {
  const declared = (name: string) => [join(folder, 'types/src', `${name}.d.ts`)];
  const paths = {
    settee: declared('browser/client/index'),
    'settee/database': declared('packages/database-client/index'),
    ...Object.fromEntries(
      ['react', 'vue', 'solid', 'tanstack'].map((name) => [`settee/${name}`, declared(`packages/frameworks/${name}`)]),
    ),
  };
  const compilerOptions = {
    strict: true,
    target: 'ES2023',
    module: 'ESNext',
    moduleResolution: 'bundler',
    allowImportingTsExtensions: true,
    noEmit: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: true,
    jsx: 'react-jsx',
    lib: ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
    types: [],
    paths,
  };
  const files = [join(import.meta.dirname, 'apps', file)];
  const project = join(folder, 'tsconfig.json');
  writeFileSync(project, JSON.stringify({ compilerOptions, files }));
  compile('-p', project);
});
