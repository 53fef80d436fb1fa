import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Browser } from '../drivers/browser.ts';
import { chosenEngines, startBrowser } from '../drivers/start.ts';
import { AdminPage } from './admin-page.ts';

const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.each(chosenEngines())('the form of a document on the administration page in %s', (engine) => {
  let browser: Browser;
  let page: AdminPage | undefined;

  beforeAll(async () => {
    browser = await startBrowser(engine);
  });
  afterAll(() => browser?.close());
  afterEach(async ({ task }) => {
    if (task.result?.state === 'fail') console.info(browser.messages.slice(-20).join('\n'));
    await page?.close();
    page = undefined;
  });

  /** Opens the form of a document with that text. */
  async function openForm(text: string): Promise<AdminPage> {
    const opened = await AdminPage.open(browser);
    page = opened;
    await opened.logIn();
    await opened.ask('PUT', 'library');
    await opened.putText('library/a', text);
    await opened.goTo('#/db/library/document/a');
    await opened.press('Form', '[role=tab]');
    return opened;
  }

  async function store(opened: AdminPage): Promise<string> {
    await opened.press('Review and store');
    await opened.press('Store');
    await opened.seesNo('not stored yet');
    return (await opened.text('library/a')).replace(/"_rev":"[^"]*",/, '');
  }

  test('stores what was typed, and leaves the digits and the order of everything else', async () => {
    const opened = await openForm('{"z": 1.0, "title": "EMMA", "n": 12345678901234567890, "a": {"deep": ["x", 1e2]}}');
    await opened.sees('programs in JavaScript read 12345678901234567000');
    await opened.fill('title', 'Emma');
    await opened.fill('a.deep[0]', 'two\nlines');
    await opened.sees('1 document edited, not stored yet');
    await opened.press('Review and store');
    await opened.sees('12345678901234567890');
    await opened.press('Cancel');
    expect(await store(opened)).toBe(
      '{"_id":"a","z":1.0,"title":"Emma","n":12345678901234567890,"a":{"deep":["two\\nlines",1e2]}}',
    );
  });

  test('adds, renames, moves and removes fields, changes a type, and takes the last change back', async () => {
    const opened = await openForm('{"one": "1.50", "two": 2, "list": [true]}');
    await opened.press('Add a field');
    await opened.fill('Name of field', 'three');
    await opened.press('More about three');
    await opened.press('Move up');
    await opened.press('Add an item to list');
    await opened.fill('Type of one', 'number');
    await opened.fill('Type of three', 'null');
    await opened.press('More about two');
    await opened.press('Remove', '[aria-label="Actions for two"] *');
    await opened.until(`document.querySelector('[aria-label="Name of two"]') === null`);
    await opened.press('Undo the last change');
    await opened.until(`document.querySelector('[aria-label="Name of two"]') !== null`);
    expect(await store(opened)).toBe('{"_id":"a","one":1.50,"two":2,"three":null,"list":[true,false]}');
  });

  test('is gone through by Tab field by field: name, value, type, more', async () => {
    const opened = await openForm('{"one": 1, "two": "text"}');
    const names = await opened.tab.evaluate(
      `[...document.querySelectorAll('.field-form ul :is(input, textarea, select, button)')].map((one) => one.tabIndex + ' ' + one.getAttribute('aria-label')).join()`,
    );
    expect(names).toBe(
      '0 Name of one,0 one,0 Type of one,0 More about one,0 Name of two,0 two,0 Type of two,0 More about two',
    );
  });

  test('goes to the field that was added, moved, or comes after a removed one', async () => {
    const opened = await openForm('{"one": 1, "two": 2, "three": 3}');
    const focused = 'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.trim()';
    await opened.press('More about one');
    await opened.press('Move down');
    await opened.until(`(${focused}) === 'Move down'`);
    await opened.press('Remove');
    await opened.until(`(${focused}) === 'More about three'`);
    await opened.press('Add a field');
    await opened.until(`(${focused}) === 'Name of field'`);
  });

  test('says beside the field what is wrong, and nothing is stored until it is mended', async () => {
    const opened = await openForm('{"n": 1, "m": 2}');
    await opened.fill('n', '1,5');
    await opened.sees('This is not a number in JSON: write 1.5.');
    expect(await opened.whyOff('Review and store')).toContain('This is not a number in JSON');
    expect(await opened.violations()).toEqual([]);
    await opened.fill('n', '1.5');
    await opened.fill('Name of m', '_m');
    await opened.sees('Names that begin with _ are reserved.');
    await opened.fill('Name of _m', 'n');
    await opened.sees('Another field of this object has the same name.');
    await opened.fill('Name of n', 'k');
    expect(await store(opened)).toBe('{"_id":"a","k":1.5,"n":2}');
  });

  test('and the source show the same edit', async () => {
    const opened = await openForm('{"title": "EMMA"}');
    await opened.fill('title', 'Emma');
    await opened.press('Source', '[role=tab]');
    await opened.type('Source of a', '{"title": "Emma", "year": 1815}');
    await opened.press('Form', '[role=tab]');
    await opened.until(`document.querySelector('[aria-label="year"]')?.value === '1815'`);
    await opened.press('Source', '[role=tab]');
    await opened.type('Source of a', '{"title": "Emma", "title": "EMMA"}');
    await opened.press('Form', '[role=tab]');
    await opened.sees('The field title occurs twice in the same object.');
    await opened.press('Show the source');
    await opened.until(`document.querySelector('.editor') !== null`);
  });

  test('shows Markdown beside its text, safely, and remembers where it is not wanted', async () => {
    const note =
      '# Head\\n\\n**bold** <img src=x onerror=boom()> [bad](javascript:boom()) [web](https://settee.example/) [other](b) ![dot](dot.png) ![far](https://settee.example/x.png)';
    const opened = await openForm(
      `{"note": "${note}", "_attachments": {"dot.png": {"content_type": "image/png", "data": "${DOT}"}}}`,
    );
    await opened.until(`document.querySelector('.markdown strong')?.textContent === 'bold'`);
    const found = await opened.tab.evaluate(
      `[...document.querySelectorAll('.markdown a, .markdown img')].map((one) => one.getAttribute('href') ?? one.getAttribute('src').replace(location.origin, '')).join(' ')`,
    );
    expect(found).toBe('https://settee.example/ #/db/library/document/b /library/a/dot.png');
    expect(await opened.tab.evaluate(`document.querySelector('.markdown a[target]').rel`)).toBe('noopener noreferrer');
    expect(await opened.violations()).toEqual([]);
    await opened.press('More about note');
    await opened.press('Show as plain text');
    await opened.until(`document.querySelector('.markdown') === null`);
    await opened.ask('PUT', 'library/other', { note: '# Head' });
    await opened.goTo('#/db/library/document/other');
    await opened.until(`document.querySelector('textarea[aria-label=note]') !== null`);
    expect(await opened.tab.evaluate(`document.querySelectorAll('.markdown').length`)).toBe(0);
  });

  test('shows images in fields and attachments', async () => {
    const opened = await openForm(
      `{"icon": "data:image/png;base64,${DOT}", "_attachments": {"dot.png": {"content_type": "image/png", "data": "${DOT}"}}}`,
    );
    await opened.until(`document.querySelector('[alt="Content of icon"]')?.naturalWidth === 1`);
    await opened.until(`document.querySelector('[alt="Preview of dot.png"]')?.naturalWidth === 1`);
    await opened.press('Enlarge dot.png');
    await opened.until(`document.querySelector('dialog [alt="Content of dot.png"]')?.naturalWidth === 1`);
    expect(await opened.violations()).toEqual([]);
    await opened.press('Close');
    await opened.choose('File in place of dot.png', 'other.txt', 'hello');
    await opened.sees('Attach dot.png');
    await opened.press('Attach');
    await opened.sees('text/plain · 5 B');
    expect(await opened.text('library/a/dot.png')).toBe('hello');
  });

  test('links strings that are ids of documents, and so does the source', async () => {
    const opened = await openForm('{"author": "austen", "other": "nobody-at-all"}');
    await opened.ask('PUT', 'library/austen', { name: 'Jane Austen' });
    await opened.fill('other', 'nobody-else');
    await opened.sees('Open austen');
    await opened.press('Source', '[role=tab]');
    await opened.sees('Documents named here: austen');
    await opened.until(
      `document.querySelector('.editor > div')?.shadowRoot?.querySelector('.cm-id-link')?.getAttribute('href') === '#/db/library/document/austen'`,
    );
    expect(await opened.violations()).toEqual([]);
    await opened.tab.evaluate(
      `void document.querySelector('.editor > div').shadowRoot.querySelector('.cm-id-link').click()`,
    );
    await opened.until(`document.querySelector('h2')?.textContent === 'austen'`);
  });
});
