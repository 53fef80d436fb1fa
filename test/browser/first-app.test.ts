import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { add, shows, useOffline } from '../recipes/notes-page.ts';
import { readInstructions } from '../recipes/page-files.ts';
import { type PackedSettee, packSettee, WalkThrough } from '../recipes/walk-through.ts';
import type { Browser } from './drivers/browser.ts';
import { chosenEngines, startBrowser } from './drivers/start.ts';

/** What docs/first-app.md promises, done as it says. What is installed comes from npm's cache or its registry. */
const { commands, files } = readInstructions('docs/first-app.md');

const linesOf = (text: string) => text.split('\n').filter((line) => line.trim() !== '').length;

test('docs/first-app.md has five commands and thirty lines of code at most', () => {
  expect(commands).toHaveLength(5);
  expect([...files.keys()].sort()).toEqual(['app.ts', 'index.html', 'notes.test.ts', 'notes.ts', 'vite.config.mts']);
  // Those that only close something and those that import are lines as all others are.
  expect([...files.values()].reduce((sum, text) => sum + linesOf(text), 0)).toBeLessThanOrEqual(30);
});

describe.each(chosenEngines())('the first app, in %s', (engine) => {
  let settee: PackedSettee;
  let reader: WalkThrough;
  let browser: Browser;

  beforeAll(async () => {
    settee = await packSettee();
    reader = new WalkThrough(settee);
    browser = await startBrowser(engine);
  }, 300_000);
  afterAll(async () => {
    await browser?.close();
    await reader?.remove();
    settee?.remove();
  });

  test('is installed, type-checked, tested and built, and works offline', { timeout: 300_000 }, async () => {
    const [init = '', install = '', installTools = '', check = '', serve = ''] = commands;
    for (const command of [init, install, installTools]) await reader.run(command);
    reader.write(files);
    expect(await reader.run(check)).toMatch(/1 passed/);
    // Types that let everything pass would be none.
    const wrong = "import { openNotes } from './notes';\nawait openNotes(fetch, '/db/').post({ txt: '' });\n";
    reader.write([['wrong.ts', wrong]]);
    await expect(reader.run('npx tsc --noEmit wrong.ts')).rejects.toThrow("'txt' does not exist in type");
    const address = await reader.serve(`${serve} --port 0`);
    const tab = await browser.open(address);
    // The page listens once the database answers.
    const other = await useOffline(browser, tab, () => reader.stop());
    await add(other, 'salt');
    await shows(tab, ['milk', 'bread', 'salt']);
    // The tab that has had the storage goes, and the other one goes on.
    await tab.close();
    const third = await browser.open(address);
    await shows(third, ['milk', 'bread', 'salt']);
    await add(third, 'jam');
    await shows(other, ['milk', 'bread', 'salt', 'jam']);
    await other.close();
    await third.close();
  });
});
