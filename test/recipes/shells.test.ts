/** Apps in a shell with a browser inside. The shells are not run; what they give to the browser is given to Chromium. */
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startSiteServer } from '../browser/server.ts';
import { openExtension } from './extension.ts';
import { add, shows } from './notes-page.ts';
import { followRecipe, openAndUseWithoutServiceWorker } from './recipe.ts';

const firstPart = (command: string) => command.split(' && ')[0] ?? '';

test('the app of electron runs from its own scheme', async () => {
  const { reader, lastCommand } = await followRecipe('electron', { node: 22 });
  await reader.run(firstPart(lastCommand));
  await reader.run('npm install --save-dev typescript @types/node');
  const check = 'npx tsc --noEmit --allowJs --checkJs --skipLibCheck --module nodenext --types node';
  await reader.run(`${check} main.mjs files.mjs`);
  // Types that let everything pass would be none.
  reader.write([['wrong.mjs', "import { protocol } from 'electron';\nprotocol.handle('app');\n"]]);
  await expect(reader.run(`${check} wrong.mjs`)).rejects.toThrow('Expected 2 arguments');

  const { answer } = await import(pathToFileURL(join(reader.folder, 'files.mjs')).href);
  const ask = (path: string): Promise<Response> => answer(new Request(`app://notes${path}`));
  expect((await ask('/absent.js')).status).toBe(404);
  expect((await ask('/..%2Fpackage.json')).status).toBe(400);
  const server = createServer(async ({ url = '/' }, response) => {
    const { status, headers, body } = await ask(url);
    response.writeHead(status, Object.fromEntries(headers));
    for await (const chunk of body ?? []) response.write(chunk);
    response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const stop = async () => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(stop);
  const port = String(Object(server.address()).port);
  await openAndUseWithoutServiceWorker(`http://127.0.0.1:${port}/index.html`, stop);

  const openPage = await openExtension(join(reader.folder, 'dist'));
  const page = await openPage();
  expect(await page.evaluate('location.protocol')).toBe('chrome-extension:');
  await add(page, 'milk');
  await shows(page, ['milk']);
  const other = await openPage();
  await shows(other, ['milk']);
  await page.close();
  await add(other, 'bread');
  await shows(other, ['milk', 'bread']);
});

test('the app of capacitor is complete in its Android project', async () => {
  const { reader, lastCommand } = await followRecipe('capacitor', { node: 24 });
  const [build = '', addAndroid = ''] = lastCommand.split(' && ');
  await reader.run(build);
  await reader.run(addAndroid);
  await reader.run('npx cap sync android');
  const assets = join(reader.folder, 'android/app/src/main/assets');
  expect(existsSync(join(assets, 'public/index.html'))).toBe(true);
  expect(readdirSync(join(assets, 'public'), { recursive: true }).map(String)).toContainEqual(
    expect.stringMatching(/^assets.settee-[0-9a-f]{8}.settee-worker\.js$/),
  );
  const server = await startSiteServer(join(assets, 'public'));
  onTestFinished(() => server.close().catch(() => undefined));
  await openAndUseWithoutServiceWorker(`${server.origin}/`, () => server.close());
});
