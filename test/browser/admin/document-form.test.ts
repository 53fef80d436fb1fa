import { describe, expect, test } from 'vitest';
import { patient } from '../../support/patience.ts';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

describe.each(chosenEngines())('the form of a document on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  /** Opens the form of a document with that text. */
  async function openForm(text: string): Promise<void> {
    await page.openAsAdmin();
    await page.ask('PUT', 'library');
    await page.putText('library/a', text);
    await page.goTo('#/db/library/document/a');
    await page.press('Form', '[role=tab]');
  }

  async function store(): Promise<string> {
    await page.press('Review and store');
    await page.press('Store');
    await page.seesNo('not stored yet');
    return (await page.text('library/a')).replace(/"_rev":"[^"]*",/, '');
  }

  test('stores what was typed, and leaves the digits and the order of everything else', async () => {
    await openForm('{"z": 1.0, "title": "EMMA", "n": 12345678901234567890, "a": {"deep": ["x", 1e2]}}');
    await page.sees('programs in JavaScript read 12345678901234567000');
    await page.fill('title', 'Emma');
    await page.fill('a.deep[0]', 'two\nlines');
    await page.sees('1 document edited, not stored yet');
    await page.press('Review and store');
    await page.sees('12345678901234567890');
    await page.press('Cancel');
    expect(await store()).toBe(
      '{"_id":"a","z":1.0,"title":"Emma","n":12345678901234567890,"a":{"deep":["two\\nlines",1e2]}}',
    );
  });

  test('adds, renames, moves and removes fields, changes a type, and takes the last change back', async () => {
    await openForm('{"one": "1.50", "two": 2, "list": [true]}');
    await page.press('Add a field');
    await page.fill('Name of field', 'three');
    await page.press('More about three');
    await page.press('Move up');
    await page.press('Add an item to list');
    await page.fill('Type of one', 'number');
    await page.fill('Type of three', 'null');
    await page.press('More about two');
    await page.press('Remove', '[aria-label="Actions for two"] *');
    await page.until(`document.querySelector('[aria-label="Name of two"]') === null`);
    await page.press('Undo the last change');
    await page.until(`document.querySelector('[aria-label="Name of two"]') !== null`);
    expect(await store()).toBe('{"_id":"a","one":1.50,"two":2,"three":null,"list":[true,false]}');
  });

  test('is gone through by Tab field by field: name, value, type, more', async () => {
    await openForm('{"one": 1, "two": "text"}');
    const names = await page.tab.evaluate(
      `[...document.querySelectorAll('.field-form ul :is(input, textarea, select, button)')].map((one) => one.tabIndex + ' ' + one.getAttribute('aria-label')).join()`,
    );
    expect(names).toBe(
      '0 Name of one,0 one,0 Type of one,0 More about one,0 Name of two,0 two,0 Type of two,0 More about two',
    );
  });

  test('goes to the field that was added, moved, or comes after a removed one', async () => {
    await openForm('{"one": 1, "two": 2, "three": 3}');
    const focused = 'document.activeElement.getAttribute("aria-label") ?? document.activeElement.textContent.trim()';
    await page.press('More about one');
    await page.press('Move down');
    await page.until(`(${focused}) === 'Move down'`);
    await page.press('Remove');
    await page.until(`(${focused}) === 'More about three'`);
    await page.press('Add a field');
    await page.until(`(${focused}) === 'Name of field'`);
  });

  test('says beside the field what is wrong, and nothing is stored until it is mended', async () => {
    await openForm('{"n": 1, "m": 2}');
    await page.fill('n', '1,5');
    await page.sees('This is not a number in JSON: write 1.5.');
    await expect.poll(() => page.whyOff('Review and store'), patient).toContain('This is not a number in JSON');
    expect(await page.violations()).toEqual([]);
    await page.fill('n', '1.5');
    await page.fill('Name of m', '_m');
    await page.sees('Names that begin with _ are reserved.');
    await page.fill('Name of _m', 'n');
    await page.sees('Another field of this object has the same name.');
    await page.fill('Name of n', 'k');
    expect(await store()).toBe('{"_id":"a","k":1.5,"n":2}');
  });

  test('and the source show the same edit', async () => {
    await openForm('{"title": "EMMA"}');
    await page.fill('title', 'Emma');
    await page.press('Source', '[role=tab]');
    await page.type('Source of a', '{"title": "Emma", "year": 1815}');
    await page.press('Form', '[role=tab]');
    await page.until(`document.querySelector('[aria-label="year"]')?.value === '1815'`);
    await page.press('Source', '[role=tab]');
    await page.type('Source of a', '{"title": "Emma", "title": "EMMA"}');
    await page.press('Form', '[role=tab]');
    await page.sees('The field title occurs twice in the same object.');
    await page.press('Show the source');
    await page.until(`document.querySelector('.editor') !== null`);
  });

  test('shows Markdown beside its text, safely, and remembers where it is not wanted', async () => {
    const note =
      '# Head\\n\\n**bold** <img src=x onerror=boom()> [bad](javascript:boom()) [web](https://settee.example/) [other](b) ![dot](dot.png) ![far](https://settee.example/x.png)';
    await openForm(`{"note": "${note}", "_attachments": {"dot.png": {"content_type": "image/png", "data": "${DOT}"}}}`);
    await page.until(`document.querySelector('.markdown strong')?.textContent === 'bold'`);
    const found = await page.tab.evaluate(
      `[...document.querySelectorAll('.markdown a, .markdown img')].map((one) => one.getAttribute('href') ?? one.getAttribute('src').replace(location.origin, '')).join(' ')`,
    );
    expect(found).toBe('https://settee.example/ #/db/library/document/b /library/a/dot.png');
    expect(await page.tab.evaluate(`document.querySelector('.markdown a[target]').rel`)).toBe('noopener noreferrer');
    expect(await page.violations()).toEqual([]);
    await page.press('More about note');
    await page.press('Show as plain text');
    await page.until(`document.querySelector('.markdown') === null`);
    await page.ask('PUT', 'library/other', { note: '# Head' });
    await page.goTo('#/db/library/document/other');
    await page.until(`document.querySelector('textarea[aria-label=note]') !== null`);
    expect(await page.tab.evaluate(`document.querySelectorAll('.markdown').length`)).toBe(0);
  });

  test('shows images in fields and attachments', async () => {
    await openForm(
      `{"icon": "data:image/png;base64,${DOT}", "_attachments": {"dot.png": {"content_type": "image/png", "data": "${DOT}"}}}`,
    );
    await page.until(`document.querySelector('[alt="Content of icon"]')?.naturalWidth === 1`);
    await page.until(`document.querySelector('[alt="Preview of dot.png"]')?.naturalWidth === 1`);
    await page.press('Enlarge dot.png');
    await page.until(`document.querySelector('dialog [alt="Content of dot.png"]')?.naturalWidth === 1`);
    expect(await page.violations()).toEqual([]);
    await page.press('Close');
    await page.choose('File in place of dot.png', 'other.txt', 'hello');
    await page.sees('Attach dot.png');
    await page.press('Attach');
    await page.sees('text/plain · 5 B');
    expect(await page.text('library/a/dot.png')).toBe('hello');
  });

  test('links strings that are ids of documents, and so does the source', async () => {
    await openForm('{"author": "austen", "other": "nobody-at-all"}');
    await page.ask('PUT', 'library/austen', { name: 'Jane Austen' });
    await page.fill('other', 'nobody-else');
    await page.sees('Open austen');
    await page.press('Source', '[role=tab]');
    await page.sees('Documents named here: austen');
    await page.until(
      `document.querySelector('.editor > div')?.shadowRoot?.querySelector('.cm-id-link')?.getAttribute('href') === '#/db/library/document/austen'`,
    );
    expect(await page.violations()).toEqual([]);
    await page.tab.evaluate(
      `void document.querySelector('.editor > div').shadowRoot.querySelector('.cm-id-link').click()`,
    );
    await page.until(`document.querySelector('h2')?.textContent === 'austen'`);
  });
});
