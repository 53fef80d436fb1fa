import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { checkName } from '../../../../src/packages/create/checks.mjs';
import { type Ask, run } from '../../../../src/packages/create/run.mjs';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'settee-create-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the command; `answers` are those of somebody at a terminal. */
async function create(given: readonly string[], answers?: readonly string[]) {
  const printed: string[] = [];
  const errors: string[] = [];
  const questions: string[] = [];
  const left = [...(answers ?? [])];
  const answer: Ask = async (question) => {
    questions.push(question);
    const next = left.shift();
    if (next === undefined) throw Object.assign(new Error('closed'), { name: 'AbortError' });
    return next;
  };
  const code = await run({
    given,
    folder,
    ask: answers && answer,
    print: (text) => printed.push(text),
    printError: (text) => errors.push(text),
  });
  return { code, printed: printed.join('\n'), errors: errors.join('\n'), questions, left };
}

function filesBelow(path: string): string[] {
  return readdirSync(join(folder, path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(folder, path).length + 1))
    .map((name) => name.replaceAll('\\', '/'))
    .sort();
}

const read = (name: string) => readFileSync(join(folder, name), 'utf8');
const manifestOf = (app: string) => JSON.parse(read(`${app}/package.json`));

const COMMON = [
  '.gitignore',
  'README.md',
  'index.html',
  'package.json',
  'public/icon-192.png',
  'public/icon-512.png',
  'public/icon-maskable-512.png',
  'public/icon.svg',
  'public/manifest.webmanifest',
  'src/add-form.ts',
  'src/database.ts',
  'src/notes.ts',
  'src/settee.ts',
  'src/style.css',
  'test/notes.test.ts',
  'tsconfig.json',
  'vite.config.ts',
  'vitest.config.ts',
];
const OF_SERVER = [
  'server/make-admin.mjs',
  'src/log-in-form.ts',
  'src/session.ts',
  'src/sync-text.ts',
  'test/session.test.ts',
];
const BEHIND: Readonly<Record<string, { local: string[]; server: string[]; dependencies: string[]; check: string }>> = {
  none: {
    local: ['src/main.ts', 'src/show-notes.ts'],
    server: ['src/main.ts', 'src/show-log-in.ts', 'src/show-notes.ts', 'src/show-session.ts'],
    dependencies: [],
    check: 'tsc',
  },
  react: {
    local: ['src/NoteList.tsx', 'src/main.tsx'],
    server: ['src/LogIn.tsx', 'src/NoteList.tsx', 'src/SessionView.tsx', 'src/main.tsx'],
    dependencies: ['react', 'react-dom'],
    check: 'tsc',
  },
  vue: {
    local: ['src/NoteList.vue', 'src/main.ts'],
    server: ['src/LogIn.vue', 'src/NoteList.vue', 'src/SessionView.vue', 'src/main.ts'],
    dependencies: ['vue'],
    check: 'vue-tsc',
  },
  svelte: {
    local: ['src/NoteList.svelte', 'src/main.ts'],
    server: ['src/LogIn.svelte', 'src/NoteList.svelte', 'src/SessionView.svelte', 'src/main.ts'],
    dependencies: ['svelte'],
    check: 'svelte-check',
  },
  solid: {
    local: ['src/NoteList.tsx', 'src/main.tsx'],
    server: ['src/LogIn.tsx', 'src/NoteList.tsx', 'src/SessionView.tsx', 'src/main.tsx'],
    dependencies: ['solid-js'],
    check: 'tsc',
  },
};

describe.each(Object.entries(BEHIND))('an app with %s', (framework, expected) => {
  test.each([false, true])('has its files and packages, with a server: %s', async (hasServer) => {
    const given = ['apps/field-notes', '--framework', framework, hasServer ? '--server' : '--no-server'];
    const { code, printed, errors } = await create(given);
    expect({ code, errors }).toEqual({ code: 0, errors: '' });
    expect(printed).toContain(`  cd ${join('apps', 'field-notes')}\n  npm install\n  npm run dev`);
    expect(printed.includes('npm run server:admin')).toBe(hasServer);
    expect(printed).not.toContain('None');
    const files = filesBelow('apps/field-notes');
    expect(files).toEqual([...COMMON, ...(hasServer ? [...OF_SERVER, ...expected.server] : expected.local)].sort());
    for (const file of files.filter((name) => !name.endsWith('.png'))) {
      expect({ file, left: read(`apps/field-notes/${file}`).match(/\{\{\w+\}\}/g) }).toEqual({ file, left: null });
    }

    const { name, scripts, dependencies, devDependencies } = manifestOf('apps/field-notes');
    expect(name).toBe('field-notes');
    const ofServer = hasServer ? ['server', 'server:admin'] : [];
    expect(Object.keys(scripts)).toEqual(['dev', 'build', 'preview', 'test', 'check', ...ofServer]);
    expect(scripts.check).toBe(expected.check);
    const settee = ['settee', ...(hasServer ? ['settee-server'] : [])];
    expect(Object.keys(dependencies)).toEqual([...expected.dependencies, ...settee].sort());
    expect(dependencies.settee).toBe('^0.1.0');
    for (const tool of ['msw', 'typescript', 'vite', 'vitest']) expect(devDependencies[tool]).toMatch(/^\^\d/);
    expect(read('apps/field-notes/index.html')).toContain('<h1>Field Notes</h1>');
    const entry = expected.local.find((file) => /main\.tsx?$/.test(file));
    expect(read('apps/field-notes/index.html')).toContain(`src="/${entry}"`);
    expect(JSON.parse(read('apps/field-notes/public/manifest.webmanifest')).name).toBe('Field Notes');
    expect(read('apps/field-notes/README.md').includes('## The server')).toBe(hasServer);
    expect(read('apps/field-notes/vite.config.ts').includes('preview: { proxy }')).toBe(hasServer);
  });
});

describe('the options', () => {
  test('--yes asks nothing, and takes what is usual for the rest', async () => {
    expect(await create(['--yes'], [])).toMatchObject({ code: 0, questions: [] });
    expect(manifestOf('my-app').dependencies).toEqual({ settee: '^0.1.0' });
    expect(await create(['other', '--yes', '--framework=vue', '--server'], [])).toMatchObject({ code: 0 });
    expect(Object.keys(manifestOf('other').dependencies)).toEqual(['settee', 'settee-server', 'vue']);
  });

  test('--settee and --settee-server name packages that are not in the registry', async () => {
    for (const name of ['a.tgz', 'b.tgz']) writeFileSync(join(folder, name), '');
    const packages = ['--settee', join(folder, 'a.tgz'), '--settee-server', join(folder, 'b.tgz')];
    expect(await create(['--yes', '--server', ...packages])).toMatchObject({ code: 0 });
    const path = folder.replaceAll('\\', '/');
    expect(manifestOf('my-app').dependencies).toEqual({
      settee: `file:${path}/a.tgz`,
      'settee-server': `file:${path}/b.tgz`,
    });
  });

  test('--help and --version make nothing', async () => {
    const { code, printed } = await create(['--help']);
    expect(code).toBe(0);
    for (const word of ['--framework', 'none, react, vue, svelte, solid', '--no-server', '--yes', '--settee PATH']) {
      expect(printed).toContain(word);
    }
    expect(await create(['--version'])).toMatchObject({ code: 0, printed: '0.1.0' });
    expect(readdirSync(folder)).toEqual([]);
  });

  test.each([
    [
      ['--framework', 'angular', '--yes'],
      'There is no framework "angular" here. Choose one of none, react, vue, svelte, solid.',
    ],
    [['--framework', 'toString', '--yes'], 'There is no framework "toString"'],
    [['one', 'two', '--yes'], 'Only one folder can be given, and these are 2: one two.'],
    [['--typo'], "Unknown option '--typo'"],
    [['--settee', 'nowhere.tgz', '--yes'], '--settee: there is no file or folder'],
    [['one', '--framework', 'vue'], 'not a terminal. What is missing: --server or --no-server. Give these, or --yes'],
    [[], 'What is missing: the folder, --framework, --server or --no-server.'],
  ])('%j is refused', async (given, reason) => {
    const { code, errors } = await create(given);
    expect(code).toBe(1);
    expect(errors).toContain(reason);
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('the questions', () => {
  test('are asked for what no option says, until the answers can be taken', async () => {
    mkdirSync(join(folder, 'full'));
    writeFileSync(join(folder, 'full', 'file'), '');
    const answers = ['full', 'Bad Name', ' field-notes ', '9', 'Vue', 'maybe', 'y'];
    const { code, questions, left } = await create([], answers);
    expect({ code, left }).toEqual({ code: 0, left: [] });
    expect(questions.map((question) => question.split('\n')[0])).toEqual([
      'Name of the app, or its folder (my-app): ',
      expect.stringContaining('full is not empty (file), and nothing in it is overwritten.'),
      expect.stringContaining('"Bad Name" can\'t be the name of an app'),
      'Framework:',
      'Please answer with a number from 1 to 5.',
      'With a server of your own, for log-in and sync between devices? (y/N): ',
      'Please answer y or n.',
    ]);
    expect(Object.keys(manifestOf('field-notes').dependencies)).toEqual(['settee', 'settee-server', 'vue']);
  });

  test('have answers that Enter chooses', async () => {
    expect(await create([], ['', '', ''])).toMatchObject({ code: 0 });
    expect(Object.keys(manifestOf('my-app').dependencies)).toEqual(['settee']);
    expect(await create(['second', '--no-server'], ['2'])).toMatchObject({ code: 0, left: [] });
    expect(Object.keys(manifestOf('second').dependencies)).toEqual(['react', 'react-dom', 'settee']);
  });

  test('that are not answered make nothing', async () => {
    expect(await create([], ['my-app'])).toMatchObject({ code: 1, errors: '\nNothing was made.' });
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('the folder', () => {
  test('is not touched if it has files', async () => {
    mkdirSync(join(folder, 'app'));
    writeFileSync(join(folder, 'app', 'package.json'), 'mine');
    const { code, errors } = await create(['app', '--yes']);
    expect(code).toBe(1);
    expect(errors).toContain('app is not empty (package.json), and nothing in it is overwritten.');
    expect(filesBelow('app')).toEqual(['package.json']);
    expect(read('app/package.json')).toBe('mine');
  });

  test('may be there if it is empty or a new clone, and may be the current one', async () => {
    mkdirSync(join(folder, 'app', '.git'), { recursive: true });
    expect(await create(['app', '--yes'])).toMatchObject({ code: 0 });
    expect(existsSync(join(folder, 'app', 'src', 'main.ts'))).toBe(true);
    mkdirSync(join(folder, 'here'));
    folder = join(folder, 'here');
    const { code, printed } = await create(['.', '--yes']);
    folder = join(folder, '..');
    expect(code).toBe(0);
    expect(printed).not.toContain('  cd ');
    expect(manifestOf('here').name).toBe('here');
  });

  test('is no file, and below no file', async () => {
    writeFileSync(join(folder, 'taken'), '');
    expect((await create(['taken', '--yes'])).errors).toContain('taken is not a folder. Choose another name.');
    expect((await create(['taken/app', '--yes'])).errors).toContain('is not a folder. Choose another name.');
    expect(read('taken')).toBe('');
  });

  test.skipIf(process.platform === 'win32')('is no link that leads nowhere', async () => {
    symlinkSync(join(folder, 'nowhere'), join(folder, 'link'));
    expect((await create(['link', '--yes'])).errors).toContain('link is a link that leads nowhere.');
    expect(readdirSync(folder)).toEqual(['link']);
  });

  test.each([
    'App',
    'my app',
    '-app',
    '.app',
    '_app',
    'app.',
    'ünter',
    'a'.repeat(101),
    'con',
    'nul.txt',
    'settee',
    'react',
    'node_modules',
    'a"b',
  ])('has a name that npm and Windows take, unlike %s', (name) => {
    expect(() => checkName(join(folder, name))).toThrow(/can't be the name of an app/);
  });

  test.each(['a', 'app', 'my-app', 'my_app2', '2048', 'con-tent', 'a.b', 'a'.repeat(100)])(
    'may be named %s',
    (name) => {
      expect(checkName(join(folder, name))).toBe(name);
    },
  );
});
