import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { add, shows } from './notes-page.ts';
import { buildAndServe, followRecipe, noErrors, openBrowser } from './recipe.ts';

/** What the app did before it moved: its library as one script, and what it wrote. */
const libraries = {
  pouchdb: {
    script: 'node_modules/pouchdb/dist/pouchdb.min.js',
    write: `(async () => {
      const db = new PouchDB('notes');
      await db.bulkDocs([{ _id: 'a', text: 'milk' }, { _id: 'b', text: 'bread' }]);
      await db.put({ ...(await db.get('b')), text: 'rye bread' });
      return (await db.allDocs()).total_rows;
    })()`,
    rows: ['milk', 'rye bread'],
    old: "indexedDB.databases().then((all) => all.some(({ name }) => name === '_pouch_notes'))",
    isLeft: false,
  },
  dexie: {
    script: 'node_modules/dexie/dist/dexie.min.js',
    write: `(async () => {
      const db = new Dexie('notes');
      db.version(3).stores({ notes: '++id, text' });
      await db.notes.bulkAdd(Array.from({ length: 1200 }, (_, index) => ({ text: 'note ' + index })));
      return db.notes.count();
    })()`,
    rows: Array.from({ length: 1200 }, (_, index) => `note ${index}`),
    old: "indexedDB.databases().then((all) => all.some(({ name }) => name === 'notes'))",
    isLeft: true,
  },
} as const;

describe.each(['pouchdb', 'dexie'] as const)('the app that used %s', (name) => {
  test('migrates its notes', async () => {
    const { script, write, rows, old, isLeft } = libraries[name];
    const { reader, lastCommand } = await followRecipe(name);
    reader.write([
      ['public/before.html', '<!doctype html><script src="before.js"></script>'],
      ['public/before.js', readFileSync(join(reader.folder, script), 'utf8')],
    ]);
    const address = await buildAndServe(reader, lastCommand);
    const browser = await openBrowser();
    const tab = await browser.open(`${address}before.html`);
    expect(await tab.evaluate(write)).toBe(rows.length);
    await tab.navigate(address);
    await shows(tab, rows);
    expect(await tab.evaluate(old)).toBe(isLeft);
    await add(tab, 'salt');
    await shows(tab, [...rows, 'salt']);
    await tab.reload();
    await shows(tab, [...rows, 'salt']);
    noErrors(browser);
  });
});
