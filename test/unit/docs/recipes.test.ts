import { readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { parseSync } from 'vite';
import { describe, expect, test } from 'vitest';
import { readInstructions } from '../../recipes/page-files.ts';
import { linksOf, namesOfPages, readPage, repository } from './pages.ts';

const pages = namesOfPages('docs/recipes').map((path) => ({ path, name: basename(path, '.md') }));
/** What they say is done by a test of test/integrations. */
const ofServers: readonly string[] = ['openid'];
const recipes = pages.filter(({ name }) => !ofServers.includes(name));

/** The tests that do what recipes say. */
function readTests(): string {
  const folder = join(repository, 'test/recipes');
  const files = readdirSync(folder).filter((file) => file.endsWith('.test.ts'));
  return files.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n');
}

/** What is wrong with a file by its language: nothing but JavaScript, TypeScript and JSON is looked at, also inside of pages and components. */
function mistakesIn(name: string, text: string): unknown[] {
  const parse = (lang: 'ts' | 'tsx', code: string) =>
    parseSync(`sample.${lang}`, code, { lang, sourceType: 'module' }).errors;
  switch (extname(name)) {
    case '.json':
      return typeof JSON.parse(text) === 'object' ? [] : [text];
    case '.ts':
    case '.mts':
      return parse('ts', text);
    // What is written for Next is JavaScript with elements.
    case '.js':
    case '.mjs':
    case '.tsx':
      return parse('tsx', text);
    case '.html':
    case '.vue':
    case '.svelte': {
      const scripts = [...text.matchAll(/<script(?! type="importmap")[^>]*>(.*?)<\/script>/gs)];
      return scripts.flatMap(([, code = '']) => parse('ts', code));
    }
    default:
      return [`${name}: no such file is expected`];
  }
}

test('there are recipes for common frameworks', () => {
  expect(recipes.map(({ name }) => name)).toEqual([
    'capacitor',
    'cdn',
    'dexie',
    'electron',
    'next',
    'pouchdb',
    'react',
    'solid',
    'svelte',
    'sveltekit',
    'vite-plugin-pwa',
    'vue',
  ]);
});

test.for(ofServers)(
  'the recipe for a server %s is in the list of pages, and its configuration is what a test uses',
  (name) => {
    expect(linksOf(readPage('docs/README.md').text)).toContain(`recipes/${name}.md`);
    const integration = readFileSync(join(repository, 'test/integrations', `${name}.test.ts`), 'utf8');
    expect(integration).toContain(`docs/recipes/${name}.md`);
  },
);

describe.each(recipes)('the recipe $path', ({ path, name }) => {
  const { commands, files } = readInstructions(path);

  test('is in the list of pages, and carried out by a test', () => {
    expect(linksOf(readPage('docs/README.md').text)).toContain(`recipes/${name}.md`);
    expect(readTests()).toContain(`'${name}'`);
  });

  test('has commands, and readable files', () => {
    expect(commands.filter((command) => /^npm install settee\b/.test(command))).toHaveLength(1);
    expect(files.size).toBeGreaterThanOrEqual(3);
    for (const [file, text] of files)
      expect({ file, mistakes: mistakesIn(file, text) }).toEqual({ file, mistakes: [] });
  });

  test('has no code block without a file', () => {
    const blocks = readPage(path).text.match(/^```(?!sh$)\w+$/gm) ?? [];
    expect(blocks).toHaveLength(files.size);
  });
});
