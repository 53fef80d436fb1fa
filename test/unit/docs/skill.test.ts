import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { transformWithOxc } from 'vite';
import { afterEach, expect, test } from 'vitest';
import { MemoryService } from '../../../src/browser/msw/memory-service.ts';
import { type Database, database, type Fetch, type Sync, sync } from '../../../src/packages/database-client/index.ts';
import { readPage, repository, SKILL, samplesOf } from './pages.ts';

const { text } = readPage(SKILL);
const samples = samplesOf(text, 'ts');
const services: MemoryService[] = [];

afterEach(() => {
  for (const service of services.splice(0)) service.reset();
});

/** A database in memory behind a `fetch` whose paths begin with `/db/`. */
function openService(): Fetch {
  const service = new MemoryService({ basePath: '/db', config: {} }, undefined);
  services.push(service);
  return async (address, init) => service.fetch(new Request(new URL(address, 'http://localhost'), init));
}

test('the front matter is that of a skill: its folder is its name', () => {
  const [, front = ''] = /^---\n(.*?)\n---\n/s.exec(text) ?? [];
  const members = new Map(front.split('\n').map((line) => [line.replace(/:.*/, ''), line.replace(/^\w+: /, '')]));
  expect([...members.keys()]).toEqual(['name', 'description', 'license']);
  expect(members.get('name')).toBe('settee');
  expect(SKILL).toContain('/settee/SKILL.md');
  expect(members.get('description')?.length).toBeLessThan(1024);
});

test('the code for an app runs, from start to sync', async () => {
  const printed: unknown[][] = [];
  const nowhere = 'http://127.0.0.1:9/db/notes';
  const fetch = openService();
  const modules = {
    settee: { start: async () => ({ fetch }) },
    'settee/database': {
      database,
      sync: (...[local, , options]: Parameters<typeof sync>) => sync(local, nowhere, options),
    },
  };
  const { notes, notesSync } = await run(samples.slice(1, -1).join('\n'), modules, {
    log: (...values: unknown[]) => printed.push(values),
  });
  await notesSync.stop();
  expect(printed.slice(0, 2)).toEqual([['Buy milk'], [0]]);
  expect(printed[2]).toEqual([expect.any(String), 'deleted']);
  const { rows } = await notes.all({ include_docs: true });
  const photos = rows.filter(({ doc }) => doc?._attachments !== undefined);
  expect(photos.map(({ doc }) => doc?.['text'])).toEqual(['With a photo']);
});

test('the configuration for Vite names a plugin that is there', async () => {
  const { exports } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  for (const [, name = ''] of samples.join('\n').matchAll(/from '(settee[^']*)'/g)) {
    expect(exports).toHaveProperty([name.replace(/^settee/, '.')]);
  }
});

/** Runs a module whose imports are given, and returns what it exports or defines at its top. */
async function run(
  code: string,
  modules: Readonly<Record<string, object>>,
  console: object,
): Promise<{ readonly notes: Database<Record<string, unknown>>; readonly notesSync: Sync }> {
  const { code: plain } = await transformWithOxc(code, 'app.ts');
  const body = plain
    .replace(/^import \{([^}]*)\} from "([^"]*)";$/gm, 'const {$1} = modules["$2"];')
    .replace(/^export (?=const|\{)/gm, (found) => (found.includes('{') ? '//' : ''));
  const AsyncFunction = Object.getPrototypeOf(async () => undefined).constructor;
  const names = 'return { notes, notesSync };';
  return new AsyncFunction('modules', 'console', `${body}\n${names}`)(modules, console);
}
