import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())('a change of many documents on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  async function openLibrary(docs: readonly object[]): Promise<void> {
    await page.openAsAdmin();
    await page.ask('PUT', 'library');
    await page.ask('POST', 'library/_bulk_docs', { docs });
    await page.goTo('#/db/library');
    await page.sees('Rows 1–');
  }

  function numbered(count: number): readonly object[] {
    return Array.from({ length: count }, (_, n) => ({ _id: `d${`${n}`.padStart(3, '0')}`, n }));
  }

  /** The members of the documents, by id. */
  async function stored(): Promise<Readonly<Record<string, unknown>>> {
    const { rows } = Object(await page.ask('GET', 'library/_all_docs?include_docs=true'));
    return Object.fromEntries(
      rows.map(({ id, doc: { _id, _rev, ...members } }: { id: string; doc: Record<string, unknown> }) => [id, members]),
    );
  }

  /** Selects the first rows with the keyboard. */
  async function selectFirst(count: number): Promise<void> {
    await page.focus('[role=grid]');
    await page.key('Home');
    await page.key(' ');
    for (let more = 1; more < count; more += 1) await page.key('ArrowDown', { shiftKey: true });
    await page.sees(`${count} of`);
  }

  test('sets a field after the request was shown, and is undone', async () => {
    await openLibrary([
      { _id: 'a', n: 1 },
      { _id: 'b', n: 2, kind: 'book' },
      { _id: 'c', n: 3 },
    ]);
    await selectFirst(2);
    await page.press('Set a field');
    expect(await page.violations()).toEqual([]);
    await page.fill('Field', 'kind');
    await page.fill('Value, as JSON', 'book');
    await page.press('Review');
    await page.sees('A text stands in quotes');
    await page.fill('Value, as JSON', '"book"');
    await page.press('Review');
    await page.sees('Set kind in 2 documents');
    await page.sees('2 of 3 documents in library.');
    await page.sees('No replication of this server copies the database elsewhere.');
    await page.sees('+ "kind": "book"');
    await page.sees(`await fetch("/library/_bulk_docs", { method: 'POST',`);
    expect(await page.violations()).toEqual([]);
    await page.press('Apply');
    await page.sees('Done: 1 written, 1 was so already.');
    expect(await stored()).toEqual({ a: { n: 1, kind: 'book' }, b: { n: 2, kind: 'book' }, c: { n: 3 } });
    expect(await page.violations()).toEqual([]);
    await page.press('Undo');
    await page.sees('Undo “Set kind in 2 documents”');
    await page.sees('− "kind": "book"');
    await page.press('Apply');
    await page.sees('Done: 1 written.');
    await page.sees('It is undone.');
    expect(await stored()).toEqual({ a: { n: 1 }, b: { n: 2, kind: 'book' }, c: { n: 3 } });
    await page.press('Dismiss');
    await page.press('Dismiss');
    await page.until(`document.querySelectorAll('.bulk-run').length === 0`);
  });

  test('removes a field, and merges an object', async () => {
    await openLibrary([
      { _id: 'a', n: 1, old: true },
      { _id: 'b', n: 2 },
    ]);
    await selectFirst(2);
    await page.press('Remove a field');
    await page.fill('Field', 'old');
    await page.press('Review');
    await page.press('Apply');
    await page.sees('Done: 1 written, 1 was so already.');
    await selectFirst(2);
    await page.press('Change by JSON');
    await page.type('Change', '{"n": null, "address": {"city": "Bath"}}');
    await page.press('Review');
    await page.sees('Change 2 documents');
    await page.press('Apply');
    await page.sees('Done: 2 written.');
    expect(await stored()).toEqual({ a: { address: { city: 'Bath' } }, b: { address: { city: 'Bath' } } });
  });

  test('keeps numbers with more digits than a script can count', async () => {
    await openLibrary([{ _id: 'a' }]);
    const body = '{"_id": "big", "number": 12345678901234567890, "share": 1.0}';
    await fetch(`${page.host.baseUrl}/library/big`, {
      method: 'PUT',
      headers: { authorization: `Basic ${btoa('root:rootpw')}`, 'content-type': 'application/json' },
      body,
    });
    await page.goTo('#/');
    await page.goTo('#/db/library');
    await page.sees('Rows 1–2');
    await selectFirst(2);
    await page.press('Set a field');
    await page.fill('Field', 'seen');
    await page.fill('Value, as JSON', '1.50');
    await page.press('Review');
    await page.press('Apply');
    await page.sees('Done: 2 written.');
    const response = await fetch(`${page.host.baseUrl}/library/big`, {
      headers: { authorization: `Basic ${btoa('root:rootpw')}` },
    });
    expect(await response.text()).toContain('"number":12345678901234567890,"share":1.0,"seen":1.50');
  });

  test('deletes all that match a selector, more than a page of them, and brings them back', async () => {
    await openLibrary([...numbered(350), { _id: 'x', other: true }]);
    await page.fill('Show', 'selector');
    await page.fill('Selector', '{"n": {"$gte": 0}}');
    await page.press('Filter');
    await page.sees('At least 100 documents match');
    await page.focus('[role=grid]');
    await page.key('a', { ctrlKey: true });
    await page.sees('All that match are selected');
    await page.key(' ');
    await page.sees('All that match are selected, except 1');
    await page.key('Delete');
    await page.sees('Delete 349 documents');
    await page.sees('349 of 351 documents in library.');
    await page.sees('Each document gets a tombstone, which stays and replicates.');
    await page.press('Apply');
    await page.sees('Done: 349 written.');
    expect(Object.keys(await stored())).toEqual(['d000', 'x']);
    await page.press('Undo');
    await page.press('Apply');
    await page.sees('Undo “Delete 349 documents” Done: 349 written.');
    expect(Object.keys(await stored())).toHaveLength(351);
    expect(await page.ask('GET', 'library/d349')).toMatchObject({ n: 349 });
  });

  test('brings deleted attachments back', async () => {
    const file = { content_type: 'text/plain', data: 'aGVsbG8=' };
    await openLibrary([{ _id: 'a', _attachments: { 'note.txt': file } }]);
    await selectFirst(1);
    await page.press('Delete');
    await page.press('Apply');
    await page.sees('This database has no documents yet.');
    await page.press('Undo');
    await page.press('Apply');
    await page.sees('Rows 1–1');
    const response = await fetch(`${page.host.baseUrl}/library/a/note.txt`, {
      headers: { authorization: `Basic ${btoa('root:rootpw')}` },
    });
    expect(await response.text()).toBe('hello');
  });

  test('names the documents that were refused, with the reason, and selects them', async () => {
    const validate = `function (doc) { if (doc.locked) throw { forbidden: 'This one is locked.' }; }`;
    await openLibrary([{ _id: 'a' }, { _id: 'b', locked: true }]);
    await page.ask('PUT', 'library/_design/rules', { validate_doc_update: validate });
    await page.fill('Show', 'prefix');
    await page.sees('3 documents match');
    await page.fill('Show', 'selector');
    await page.fill('Selector', '{}');
    await page.press('Filter');
    await page.sees('2 documents match');
    await selectFirst(2);
    await page.press('Set a field');
    await page.fill('Field', 'n');
    await page.fill('Value, as JSON', '1');
    await page.press('Review');
    await page.press('Apply');
    await page.sees('Done: 1 written, 1 refused.');
    await page.sees('b forbidden This one is locked.');
    expect(await page.violations()).toEqual([]);
    await page.press('Select them');
    await page.sees('1 of 2 selected');
    await page.goTo('#/');
    await page.goTo('#/db/library');
    await page.sees('b forbidden This one is locked.');
    await page.press('Dismiss');
    await page.seesNo('This one is locked.');
  });

  test('leaves a document alone that somebody changed while the review was open', async () => {
    await openLibrary([{ _id: 'a', n: 1 }]);
    await selectFirst(1);
    await page.press('Delete');
    await page.sees('Delete 1 document');
    const { _rev } = Object(await page.ask('GET', 'library/a'));
    await page.ask('PUT', 'library/a', { _rev, n: 2 });
    await page.press('Apply');
    await page.sees('a conflict Somebody has changed it since you looked at this change.');
    expect(await stored()).toEqual({ a: { n: 2 } });
  });

  test('leaves design documents out, and says so, until a switch lets them in', async () => {
    await openLibrary([{ _id: '_design/one' }, { _id: '_design/two' }, { _id: 'a' }]);
    await page.focus('[role=grid]');
    await page.key('a', { ctrlKey: true });
    await page.press('Set a field');
    await page.fill('Field', 'n');
    await page.fill('Value, as JSON', '1');
    await page.press('Review');
    await page.sees('Set n in 1 document');
    await page.sees('2 design documents are left out: “Also change design documents” is off.');
    await page.press('Apply');
    await page.sees('Done: 1 written.');
    expect(await stored()).toEqual({ '_design/one': {}, '_design/two': {}, a: { n: 1 } });
    await selectFirst(1);
    await page.press('Delete');
    await page.sees(
      'Only design documents are selected, and they are left out: switch on “Also change design documents”.',
    );
    expect(await page.violations()).toEqual([]);
    await page.tab.evaluate(`document.querySelector('.bulk-bar [type=checkbox]').click()`);
    await page.press('Delete');
    await page.press('Apply');
    await page.sees('Delete 1 document Done: 1 written.');
    expect(await stored()).toEqual({ '_design/two': {}, a: { n: 1 } });
  });

  test.each(['chosen', 'usual'])('leaves the %s columns of the table as they are', async (columns) => {
    const docs = Array.from({ length: 20 }, (_, n) => ({ _id: `d${n}`, one: n, two: n, three: n }));
    await openLibrary(docs);
    await page.tab.evaluate(`void document.querySelectorAll('.segments input')[1].click()`);
    const titles = `[...document.querySelectorAll('[role=columnheader]')].map((one) => one.textContent).filter(Boolean).join()`;
    await page.until(`${titles} === 'Id,one,two,three'`, 'the usual columns');
    if (columns === 'chosen') {
      await page.press('Columns');
      await page.tab.evaluate(`void document.querySelectorAll('.column-choice input')[1].click()`);
      await page.press('Done');
    }
    const expected = columns === 'chosen' ? 'Id,one,three' : 'Id,one,two,three';
    await page.until(`${titles} === '${expected}'`, 'the columns before');
    await page.focus('[role=grid]');
    await page.key('a', { ctrlKey: true });
    await page.press('Change by JSON');
    await page.type('Change', '{"one": null, "new": true}');
    await page.press('Review');
    await page.press('Apply');
    await page.sees('Done: 20 written.');
    await page.until(`document.querySelector('[role=grid]')?.innerText.includes('–')`, 'the changed documents');
    expect(await page.tab.evaluate(titles)).toBe(expected);
    await page.goTo('#/db/library/document/d0');
    await page.sees('Attachments');
    await page.tab.back();
    await page.sees('20 documents');
    await page.until(`document.querySelector('[role=grid]')?.innerText.includes('–')`, 'the changed documents');
    expect(await page.tab.evaluate(titles)).toBe(expected);
  });

  test('names the peers that it reaches', async () => {
    await openLibrary([{ _id: 'a' }]);
    await page.ask('PUT', 'copy');
    const database = (name: string) => ({
      url: `${page.front.baseUrl}/${name}`,
      auth: { basic: { username: 'root', password: 'rootpw' } },
    });
    const members = { source: database('library'), target: database('copy'), continuous: true };
    await page.ask('PUT', '_replicator/push', members);
    await selectFirst(1);
    await page.press('Delete');
    await page.sees(`This replicates to peers: ${new URL(page.front.baseUrl).host}/copy (continuously; now:`);
  });

  test('is stopped, goes on, and says so when the server goes', async () => {
    await openLibrary(numbered(250));
    await page.focus('[role=grid]');
    await page.key('a', { ctrlKey: true });
    await page.press('Set a field');
    await page.fill('Field', 'done');
    await page.fill('Value, as JSON', 'true');
    await page.press('Review');
    await page.sees('Set done in 250 documents');
    await page.tab.evaluate(`void (() => {
      const real = fetch;
      window.fetch = async (address, init) => {
        if (!String(address).endsWith('_bulk_docs')) return real(address, init);
        if (window.isGone) throw new TypeError('gone');
        if (!window.letGo) await new Promise((go) => { window.letGo = go; });
        return real(address, init);
      };
    })()`);
    await page.press('Apply');
    await page.until('window.letGo !== undefined', 'a request to write');
    await page.press('Stop');
    await page.tab.evaluate('void letGo()');
    await page.sees('Stopped. 100 of 250 done: 100 written. What is written stays.');
    await page.tab.evaluate('void (window.isGone = true)');
    await page.press('Go on with the other 150');
    await page.sees('Broken off. 200 of 250 done: 100 written, 100 refused. What is written stays.');
    await page.sees('d100 unknown The server does not respond (gone). It may be stored, or not: look at the document.');
    await page.tab.evaluate('void (window.isGone = false)');
    await page.press('Undo');
    await page.press('Apply');
    await page.sees('Done: 100 written.');
    expect(await page.ask('GET', 'library/d000')).not.toHaveProperty('done');
  });

  test('exports the selection as JSON lines, and copies ids', async () => {
    await openLibrary([
      { _id: 'a', n: 1 },
      { _id: 'b', n: 2 },
      { _id: 'c', n: 3 },
    ]);
    await selectFirst(2);
    if (page.browser.can.download === true) {
      const file = await page.tab.download(
        `[...document.querySelectorAll('.bulk-bar button')].find((one) => one.textContent === 'Export').click()`,
      );
      expect(file).toEqual({ name: 'library-selection.jsonl', text: '{"_id":"a","n":1}\n{"_id":"b","n":2}\n' });
    }
    await page.press('Select all that match');
    await page.press('Copy ids');
    await page.sees('3 ids, one a line');
    await page.sees('a b c');
    expect(await page.violations()).toEqual([]);
  });

  test('can not be begun in read-only mode, and the page says why', async () => {
    await openLibrary([{ _id: 'a' }]);
    await page.tab.evaluate(`void document.querySelector('.menu [role=switch]').click()`);
    await selectFirst(1);
    for (const name of ['Set a field', 'Remove a field', 'Change by JSON', 'Delete']) {
      await page.isOff(name, 'Read-only mode is on. Switch it off at the bottom of the menu.');
    }
    await page.key('Delete');
    await page.sees('Delete 1 document');
    await page.isOff('Apply', 'Read-only mode is on. Switch it off at the bottom of the menu.');
    await page.press('Cancel');
    await page.tab.evaluate(`void document.querySelector('.menu [role=switch]').click()`);
  });
});
