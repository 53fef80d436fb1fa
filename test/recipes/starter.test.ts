import { describe, expect, test } from 'vitest';
import { violations } from '../browser/demo-notes-page.ts';
import { noErrors, openBrowser } from './recipe.ts';
import { makeStarter, startServer } from './starter-app.ts';
import { StarterPage } from './starter-page.ts';
import type { WalkThrough } from './walk-through.ts';

const frameworks = ['none', 'react', 'vue', 'svelte', 'solid'];

/** Its types are checked, its tests run, and it is built. Resolves to the address at which it is served. */
async function checkAndServe(reader: WalkThrough, tests: number): Promise<string> {
  await reader.run('cd field-notes && npm run check');
  expect(await reader.run('cd field-notes && npm test')).toMatch(new RegExp(`Tests +${tests} passed`));
  // Types that let everything pass would be none.
  reader.write([
    [
      'field-notes/src/wrong.ts',
      "import type { Notes } from './notes';\nexport const wrong = (notes: Notes) => notes.post({ txt: '' });\n",
    ],
  ]);
  await expect(reader.run('cd field-notes && npm run check')).rejects.toThrow('txt');
  await reader.run('cd field-notes && rm src/wrong.ts && npm run build');
  return reader.serve('cd field-notes && npm run preview -- --port 0');
}

describe.each(frameworks)('the app with %s', (framework) => {
  test('without a server works offline, and can be installed', async () => {
    const reader = await makeStarter(`--framework ${framework} --no-server`);
    const address = await reader.serve('cd field-notes && npm run dev -- --port 0');
    const developer = await openBrowser();
    const draft = await StarterPage.open(developer, address);
    await draft.isEmpty();
    await draft.add('draft', 400);
    await draft.shows('draft');
    await draft.showsPhotos(400);
    noErrors(developer);
    await reader.stop();

    const built = await checkAndServe(reader, 2);
    const browser = await openBrowser();
    const page = await StarterPage.open(browser, built);
    await page.isEmpty();
    expect(await violations(page.tab)).toEqual([]);
    await page.add('milk');
    // Photos are made smaller.
    await page.add('a view', 3200);
    await page.shows('a view', 'milk');
    await page.showsPhotos(1600);
    const other = await StarterPage.open(browser, built);
    await other.shows('a view', 'milk');
    await other.toggle('milk');
    await page.shows('a view', 'x milk');
    expect(await violations(page.tab)).toEqual([]);
    await page.isControlled();
    await reader.stop();

    await page.tab.reload();
    await page.shows('a view', 'x milk');
    await page.showsPhotos(1600);
    await page.installs('Field Notes');
    await page.add('bread', 300);
    await page.toggle('milk');
    await other.shows('bread', 'a view', 'milk');
    await other.showsPhotos(300, 1600);
    await other.remove('a view');
    await page.shows('bread', 'milk');
    await page.showsPhotos(300);
    noErrors(browser);
  });

  test('with a server is the same on two devices', async () => {
    const reader = await makeStarter(`--framework ${framework} --server`);
    await startServer(reader);
    const address = await checkAndServe(reader, 4);
    const [one, other] = [await openBrowser(), await openBrowser()];
    const phone = await StarterPage.open(one, address);
    await phone.logIn('Zoë', 'apple', 'log-in');
    await phone.refuses('Name or password is incorrect.');
    expect(await violations(phone.tab)).toEqual([]);
    await phone.logIn('Zoë', 'apple', 'sign-up');
    await phone.isOf('Zoë');
    await phone.add('a view', 500);
    await phone.says('Everything is on the server.');
    expect(await violations(phone.tab)).toEqual([]);

    const laptop = await StarterPage.open(other, address);
    await laptop.logIn('Zoë', 'pear', 'sign-up');
    await laptop.refuses('This name is taken. Choose another one, or log in.');
    await laptop.logIn('Zoë', 'apple', 'log-in');
    await laptop.shows('a view');
    await laptop.showsPhotos(500);
    await laptop.toggle('a view');
    await phone.shows('x a view');
    await phone.isControlled();
    await phone.tab.reload();
    await phone.shows('x a view');

    // Another user of the same browser sees nothing of the first.
    const second = await StarterPage.open(one, address);
    await second.shows('x a view');
    await phone.logOut();
    await second.isLoggedOut();
    await phone.logIn('bob', 'plum', 'sign-up');
    await phone.isOf('bob');
    await phone.isEmpty();
    await phone.add('mine');
    await phone.says('Everything is on the server.');
    await laptop.shows('x a view');

    // Without the server and the app's address.
    await reader.stop();
    await phone.tab.reload();
    await phone.shows('mine');
    await phone.add('later', 200);
    await phone.shows('later', 'mine');
    await phone.showsPhotos(200);
    await phone.says('Offline. Your notes are on this device, and are copied later.');
  });
});
