import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { readInstructions } from '../../../recipes/page-files.ts';
import { readPage, SKILL, samplesOf } from '../../docs/pages.ts';

const root = join(import.meta.dirname, '../../../..');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));

/** The entries that have types, as folders below `src`. */
const typed = [
  'browser/client',
  'packages/database-client',
  'packages/transfer',
  'browser/sw',
  'packages/vite',
  'browser/msw',
  'packages/frameworks',
];

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'settee-types-'));
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'), 'junction');
  for (const part of typed) {
    compile(join(root, 'src', part, 'tsconfig.types.json'), '--outDir', join(folder, 'dist/types'));
  }
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Throws with what the compiler says. */
function compile(project: string, ...options: string[]): void {
  const compiler = join(root, 'node_modules/typescript/bin/tsc');
  try {
    execFileSync(process.execPath, [compiler, '-p', project, ...options], { encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    throw new Error(error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error));
  }
}

/** Type checks the code of an app that has these declarations installed. */
function check(code: string, lib: string[], types: string[] = [], skipLibCheck = types.length > 0): void {
  const paths = Object.fromEntries(
    Object.entries<string | { types: string }>(manifest.exports).flatMap(([name, target]) =>
      typeof target === 'string' ? [] : [[name.replace(/^\./, 'settee'), [target.types]]],
    ),
  );
  const base = { strict: true, target: 'ES2023', module: 'ESNext', moduleResolution: 'bundler', noEmit: true };
  const compilerOptions = {
    ...base,
    exactOptionalPropertyTypes: true,
    skipLibCheck,
    lib,
    types,
    paths,
  };
  writeFileSync(join(folder, 'app.ts'), code);
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }));
  compile(join(folder, 'tsconfig.json'));
}

test('a page sees complete types of settee', () => {
  check(
    `import { type Settee, type SetteeStatus, start } from 'settee';
     const settee: Settee = await start({ base: '/db/', serviceWorker: false, settings: { svc: { a: 'b' } } });
     const { fetch } = settee;
     const response: Response = await fetch(new URL('https://app.example/db/'), { method: 'PUT', body: '{}' });
     const { role }: SetteeStatus = await settee.status();
     const updated: boolean = await settee.update();
     // @ts-expect-error There is no such option.
     start({ base: '/db/', colour: 'red' });
     // @ts-expect-error The base has to be given.
     start({});
     export { response, role, updated };`,
    ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
  );
});

test('a service worker sees the types of settee/sw', () => {
  check(
    `import { createSettee } from 'settee/sw';
     declare const self: ServiceWorkerGlobalScope;
     const settee = createSettee({ base: '/db/' });
     self.addEventListener('install', (event) => settee.install(event));
     self.addEventListener('fetch', (event) => {
       const isOurs: boolean = settee.respond(event);
       if (!isOurs) event.respondWith(fetch(event.request));
     });
     // @ts-expect-error The base has to be given.
     createSettee({});`,
    ['ES2023', 'ESNext.Disposable', 'WebWorker', 'WebWorker.AsyncIterable'],
  );
});

test('a configuration of Vite sees the types of settee/vite', () => {
  check(
    `import settee, { type SetteePluginOptions } from 'settee/vite';
     import { defineConfig } from 'vite';
     const options: SetteePluginOptions = { base: '/db/' };
     export default defineConfig({ plugins: [settee(options)] });
     // @ts-expect-error A base is text.
     settee({ base: 1 });`,
    ['ES2023', 'ESNext.Disposable', 'DOM'],
    ['node'],
  );
});

const usesDatabase = `import { type Change, database, type Fetch, type FindAnswer, SetteeError, type Stored } from 'settee/database';
  interface Note { text: string; stars?: number }
  const notes = database<Note>(fetch, 'http://localhost/db/notes');
  const note: Stored<Note> | undefined = await notes.get('first');
  const saved = await notes.put({ _id: 'first', text: 'Hello' });
  const rev: string = saved.ok ? saved.rev : '';
  if (!saved.ok) { const code: 'conflict' = saved.error; console.log(code); }
  const { docs }: FindAnswer<Pick<Stored<Note>, 'text'>> = await notes.find({ selector: { stars: { $gt: 1 } }, fields: ['text'] });
  for await (const change of notes.changes({ include_docs: true })) { const row: Change<Note> = change; console.log(row.doc?.text); }
  try { await notes.remove({ _id: 'first', _rev: rev }); } catch (error) { if (error instanceof SetteeError) console.log(error.status); }
  // @ts-expect-error The text is required.
  await notes.put({ _id: 'first' });
  // @ts-expect-error An id is required.
  await notes.put({ text: 'Hello' });
  // @ts-expect-error A Note has no such member.
  await notes.post({ text: 'Hello', colour: 'red' });
  // @ts-expect-error A Note has no such member.
  await notes.put({ _id: 'first', text: 'Hello', colour: 'red' });
  // @ts-expect-error A Note has no such member.
  await notes.put({ ...note, _id: 'first', text: 'Hello', strs: 5 });
  // @ts-expect-error A Note has no such member.
  await notes.bulk([{ text: 'Hello' }, { text: 'Hello', colour: 'red' }]);
  // @ts-expect-error A Note has no such member.
  await notes.put({ _id: 'first', _rev: rev, _deleted: true, colour: 'red' });
  // @ts-expect-error A Note has no such member.
  await notes.update('first', () => ({ text: 'Hello', colour: 'red' }));
  // @ts-expect-error A Note has no such member.
  await notes.update('first', async (current) => ({ ...current, text: 'Hello', strs: 5 }));
  // @ts-expect-error A Note has no such member.
  await notes.update('first', (current) => (current ? { _deleted: true as const } : { text: 'Hello', colour: 'red' }));
  // @ts-expect-error The text is required.
  await notes.update('first', () => ({ stars: 1 }));
  // @ts-expect-error A text is no number.
  await notes.update('first', () => ({ text: 1 }));
  await notes.put({ ...note, _id: 'first', text: 'Hello', stars: 5, _attachments: {} });
  await notes.put({ _id: 'first', _rev: rev, _deleted: true, text: 'It stays in the tombstone.' });
  if (note) await notes.put({ ...note, _deleted: true });
  await notes.bulk([{ text: 'Hello' }, { _id: 'first', _rev: rev, _deleted: true }, { _id: 'second', text: 'Hello' }]);
  await notes.update('first', (current) => ({ ...current, text: current?.text ?? '', stars: (current?.stars ?? 0) + 1 }));
  await notes.update('first', async (current) => ({ ...current, text: 'Hello' }), { retries: 3 });
  await notes.update('first', () => ({ _deleted: true }));
  await notes.update('first', (current) => (current?.stars ? { ...current, stars: 0 } : { _deleted: true }));
  interface Task { kind: 'task'; done: boolean }
  interface List { kind: 'list'; title: string }
  const items = database<Task | List>(fetch, '/db/items');
  await items.put({ _id: 'a', kind: 'task', done: true });
  await items.update('a', (item) => (item?.kind === 'task' ? { ...item, done: true } : { kind: 'list', title: 'New' }));
  // @ts-expect-error No item has such a member.
  await items.update('a', () => ({ kind: 'list', title: 'New', colour: 'red' }));
  const anything = database(fetch, '/db/anything');
  await anything.put({ _id: 'a', colour: 'red' });
  await anything.update('a', (current) => ({ ...current, colour: 'red' }));
  await anything.bulk([{ colour: 'red' }, { _id: 'b', _rev: rev, _deleted: true, why: 'old' }]);
  const plain: Fetch = fetch;
  const wrapped: Fetch = (address, init) => fetch(address, { ...init, headers: { ...init.headers, authorization: 'x' } });
  for (const send of [plain, wrapped]) {
    await send('/db/notes/first/photo', { method: 'PUT', headers: {}, body: new Blob(['a']) });
    await send('/db/notes/first/photo', { method: 'PUT', headers: {}, body: new Blob(['a']).stream(), duplex: 'half' });
    await send('/db/notes/first/photo', { method: 'PUT', headers: {}, body: new Uint8Array(3) });
  }
  export { note, docs };`;

test.for([
  ['a page', ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'], []],
  ['Node', ['ES2023', 'ESNext.Disposable'], ['node']],
] as const)('%s sees the types of settee/database', ([, lib, types]) => {
  check(usesDatabase, [...lib], [...types]);
});

test('the fetch of settee is accepted by settee/database', () => {
  check(
    `import { start } from 'settee';
     import { database } from 'settee/database';
     const { fetch } = await start({ base: '/db/' });
     export const notes = database<{ text: string }>(fetch, '/db/notes');`,
    ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'],
  );
});

test('the samples of docs/types.md, in order, have no error', () => {
  const samples = samplesOf(readPage('docs/types.md').text, 'ts');
  check(samples.join('\n'), ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable']);
});

test('the samples of the skill have no error: the configuration, the app in order, and the test', () => {
  const [config = '', ...samples] = samplesOf(readPage(SKILL).text, 'ts');
  const page = ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'];
  check(config, page, ['node'], true);
  check(samples.slice(0, -1).join('\n'), page);
  check(samples.at(-1) ?? '', page, ['node'], true);
});

describe('the code of recipes', () => {
  const page = ['ES2023', 'ESNext.Disposable', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'];
  const worker = ['ES2023', 'ESNext.Disposable', 'WebWorker', 'WebWorker.AsyncIterable'];

  /** Those with code that needs nothing else than what this repository has. Declarations of other packages are not looked at. */
  test.for([
    ['electron', 'src/main.ts', page, []],
    ['capacitor', 'src/main.ts', page, []],
    ['vite-plugin-pwa', 'src/main.ts', page, ['vite/client']],
    ['vite-plugin-pwa', 'src/sw.ts', worker, []],
    ['pouchdb', 'src/notes.ts', page, []],
    ['pouchdb', 'vite.config.mts', page, ['node']],
  ] as const)('%s has no error in %s', ([name, file, lib, types]) => {
    const code = readInstructions(`docs/recipes/${name}.md`).files.get(file);
    check(code ?? 'there is no such file', [...lib], [...types], true);
  });
});
