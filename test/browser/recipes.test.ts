/** Recipes that need no other packages than this repository has. Those of the others, and these as they say, are done by `npm run test:recipes`. */
import { execFileSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { add, isControlled, removeFirst, shows } from '../recipes/notes-page.ts';
import { readInstructions } from '../recipes/page-files.ts';
import { type AppFolder, createApp } from './app-builds.ts';
import { useBrowserSession } from './browser-session.ts';
import { chosenEngines } from './drivers/start.ts';
import { startSiteServer, type TestServer } from './server.ts';

const pouchDb = join(import.meta.dirname, '../../node_modules/pouchdb/dist/pouchdb.js');

const loaded = "performance.getEntriesByType('resource').map(({ name }) => name).join()";

describe.each(chosenEngines())('an app of the recipes in %s', (engine) => {
  const session = useBrowserSession(engine);

  function follow(name: string, packages: readonly string[] = []): { app: AppFolder; commands: readonly string[] } {
    const { commands, files } = readInstructions(`docs/recipes/${name}.md`);
    const app = createApp(Object.fromEntries(files), packages);
    onTestFinished(() => app.remove());
    return { app, commands };
  }

  async function serve(folder: string): Promise<TestServer> {
    const server = await startSiteServer(folder);
    onTestFinished(() => server.close().catch(() => undefined));
    return server;
  }

  test('written without a build keeps its notes and works offline', async () => {
    const { app, commands } = follow('cdn');
    // The app's folder is there already.
    const copy = String(commands[1]).replace('mkdir site && ', '');
    execFileSync('bash', ['-c', copy], { cwd: app.path });
    const server = await serve(join(app.path, 'site'));
    const tab = await session.browser.open(`${server.origin}/`);
    await isControlled(tab);
    await add(tab, 'milk');
    await shows(tab, ['milk']);
    await server.close();
    await tab.reload();
    await shows(tab, ['milk']);
    await add(tab, 'bread');
    await removeFirst(tab);
    await shows(tab, ['bread']);
    await tab.close();
  });

  test('that used PouchDB migrates its notes once', async ({ skip }) => {
    if (engine === 'webkit')
      skip('PouchDB waits for ever in a private session of WebKit, which keeps no Blobs in IndexedDB');
    const { app } = follow('pouchdb', ['pouchdb', 'vite']);
    app.write('public/before.html', '<!doctype html><script src="before.js"></script>');
    cpSync(pouchDb, join(app.path, 'public/before.js'));
    await app.build({ configFile: join(app.path, 'vite.config.mts') });
    const server = await serve(app.outDir);
    const tab = await session.browser.open(`${server.origin}/before.html`);
    const write = `(async () => {
      const db = new PouchDB('notes');
      await db.bulkDocs([{ _id: 'a', text: 'milk' }, { _id: 'b', text: 'bread' }]);
      await db.bulkDocs([{ _id: 'a', _rev: '1-x', text: 'oats' }], { new_edits: false });
      await db.putAttachment('b', 'bread.txt', (await db.get('b'))._rev, btoa('rye'), 'text/plain');
      return (await db.get('a', { conflicts: true }))._conflicts.length;
    })()`;
    expect(await tab.evaluate(write)).toBe(1);
    await tab.navigate(`${server.origin}/`);
    await shows(tab, [expect.stringMatching(/milk|oats/), 'bread']);
    expect(await tab.evaluate(loaded)).toMatch(/pouchdb/);
    await isControlled(tab);
    const read = (path: string) => tab.evaluate(`fetch('/db/notes/${path}').then((answer) => answer.text())`);
    expect(await read('a?conflicts=true')).toContain('"_conflicts":["1-');
    expect(await read('b/bread.txt')).toBe('rye');
    await add(tab, 'salt');
    await shows(tab, [expect.stringMatching(/milk|oats/), 'bread', 'salt']);
    await server.close();
    await tab.reload();
    await shows(tab, [expect.stringMatching(/milk|oats/), 'bread', 'salt']);
    expect(await tab.evaluate(loaded)).not.toMatch(/pouchdb/);
    await tab.close();
  });
});
