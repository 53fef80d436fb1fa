import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

/** Runs in the page: a database `million` whose documents nobody stored. Counts the requests for its rows. */
const MILLION = `void (() => {
  const real = window.fetch;
  const total = 1_000_000;
  const idOf = (index) => 'doc-' + String(index).padStart(7, '0');
  const json = (value) => Promise.resolve(new Response(JSON.stringify(value), { headers: { 'content-type': 'application/json' } }));
  window.rowRequests = 0;
  window.fetch = (address, init) => {
    const { pathname, searchParams } = new URL(address);
    if (pathname === '/million') return json({ db_name: 'million', doc_count: total, doc_del_count: 0, update_seq: 1 });
    if (pathname !== '/million/_all_docs') return real(address, init);
    window.rowRequests += 1;
    const key = searchParams.get('startkey');
    const start = key === null ? 0 : Math.min(total, Number((JSON.parse(key).match(/\\d+/) ?? ['0'])[0].padEnd(7, '0')));
    const from = start + Number(searchParams.get('skip') ?? 0);
    const to = Math.min(total, from + Number(searchParams.get('limit')));
    const rows = Array.from({ length: Math.max(0, to - from) }, (_, at) => ({ id: idOf(from + at), key: idOf(from + at), value: { rev: '1-x' } }));
    return json({ total_rows: total, offset: from, rows });
  };
})()`;

/** Whether a row shows the id, and is wholly within the list. */
function isWhole(id: string): string {
  return `(() => {
    const list = document.querySelector('[role=grid]'), row = [...document.querySelectorAll('[role=row]')].find((one) => one.innerText.includes(${JSON.stringify(id)}));
    if (!list || !row) return false;
    const [outer, inner, head] = [list, row, document.querySelector('.virtual-header')].map((one) => one.getBoundingClientRect());
    return inner.top >= head.bottom - 1 && inner.bottom <= outer.bottom + 0.5;
  })()`;
}

/** Whether a row shows the id, and is at least partly within the list. */
function isInSight(id: string): string {
  return `(() => {
    const list = document.querySelector('[role=grid]'), row = [...document.querySelectorAll('[role=row]')].find((one) => one.innerText.includes(${JSON.stringify(id)}));
    if (!list || !row) return false;
    const [outer, inner, head] = [list, row, document.querySelector('.virtual-header')].map((one) => one.getBoundingClientRect());
    return inner.bottom > head.bottom && inner.top < outer.bottom;
  })()`;
}

/** The ids of the rows that are selected, among those in sight. */
const SELECTED = `[...document.querySelectorAll('[role=row][aria-selected=true] a')].map((one) => one.textContent)`;

/** The number of the last row in sight, as the page says it. */
const LAST_IN_SIGHT = `document.querySelector('.pager')?.innerText.match(/–([\\d,]+)/)?.[1].replaceAll(',', '')`;

describe.each(chosenEngines())('the list of documents on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  /** Opens the page with a database of `count` documents, `d000` and so on. */
  async function openLibrary(count: number, hash = '#/db/library'): Promise<void> {
    await page.openAsAdmin();
    await page.ask('PUT', 'library');
    const docs = Array.from({ length: count }, (_, n) => ({
      _id: `d${`${n}`.padStart(3, '0')}`,
      n,
      kind: n % 2 === 0 ? 'even' : 'odd',
    }));
    await page.ask('POST', 'library/_bulk_docs', { docs });
    await page.goTo(hash);
  }

  describe('with a million rows', () => {
    async function openMillion(): Promise<void> {
      await page.openAsAdmin();
      await page.tab.evaluate(MILLION);
      await page.goTo('#/db/million');
      await page.sees('1,000,000 documents');
    }

    test('reaches the last row exactly, and asks for a page of it only', async () => {
      await openMillion();
      const before = Number(await page.tab.evaluate('rowRequests'));
      await page.tab.evaluate(`void document.querySelector('[role=grid]').scrollTo({ top: 1e9 })`);
      await page.until(isWhole('doc-0999999'), 'the last row');
      expect(Number(await page.tab.evaluate('rowRequests')) - before).toBeLessThanOrEqual(2);
      await page.tab.evaluate(`void document.querySelector('[role=grid]').scrollTo({ top: 0 })`);
      await page.until(isWhole('doc-0000000'), 'the first row');
    });

    test('goes to an id, to a row by its number, and by keys', async () => {
      await openMillion();
      await page.fill('Go to an id, or its beginning', 'doc-0777777');
      await page.tab.evaluate(`void document.querySelector('.go-to form').requestSubmit()`);
      await page.until(isWhole('doc-0777777'), 'the row of that id');
      await page.fill('Go to row', '500,001');
      await page.tab.evaluate(`void document.querySelector('.pager').requestSubmit()`);
      await page.until(isWhole('doc-0500000'), 'the row of that number');
      await page.sees('Rows 500,001–');
      const last = Number(await page.tab.evaluate(LAST_IN_SIGHT));
      await page.press('Next rows');
      await page.sees(`Rows ${new Intl.NumberFormat('en').format(last)}–`);
      await page.press('Rows before');
      await page.sees('Rows 500,001–');
      await page.focus('[role=grid]');
      await page.key('End');
      await page.until(isWhole('doc-0999999'), 'the last row');
      await page.key('ArrowUp');
      await page.key(' ');
      await page.sees('1 of 1,000,000 selected');
      expect(await page.tab.evaluate(SELECTED)).toEqual(['doc-0999998']);
      await page.key('Home');
      await page.until(isWhole('doc-0000000'), 'the first row');
    });

    test('selects a range of rows most of which were never in sight', async () => {
      await openMillion();
      await page.focus('[role=grid]');
      await page.key(' ');
      await page.fill('Go to row', '5001');
      await page.tab.evaluate(`void document.querySelector('.pager').requestSubmit()`);
      await page.until(isWhole('doc-0005000'), 'the row of that number');
      await page.tab.evaluate(
        `void [...document.querySelectorAll('[role=row]')].find((one) => one.innerText.includes('doc-0005000')).dispatchEvent(new MouseEvent('click', { bubbles: true, shiftKey: true }))`,
      );
      // Going to a row begins a range there; the key extends one from the beginning.
      await page.sees('2 of 1,000,000 selected');
      await page.focus('[role=grid]');
      await page.key('Home', { shiftKey: true });
      await page.sees('5,001 of 1,000,000 selected');
    });
  });

  test('marks the row of the id that it went to, and opens the document at a second Enter', async () => {
    await openLibrary(150);
    await page.sees('150 documents');
    const marked = `[...document.querySelectorAll('[role=row][aria-current=true] a')].map((one) => one.textContent)`;
    const submit = `void document.querySelector('.go-to form').requestSubmit()`;
    await page.fill('Go to an id, or its beginning', 'd09');
    await page.tab.evaluate(submit);
    await page.sees('Enter opens d090.');
    expect(await page.tab.evaluate(marked)).toEqual(['d090']);
    expect(await page.violations()).toEqual([]);
    await page.fill('Go to an id, or its beginning', 'd0907');
    await page.seesNo('Enter opens');
    await page.tab.evaluate(submit);
    await page.sees('No id begins with “d0907”: the next one is marked.');
    expect(await page.tab.evaluate(marked)).toEqual(['d091']);
    await page.seesNo('Enter opens');
    await page.focus('[role=grid]');
    await page.key('ArrowDown');
    await page.until(`${marked}.length === 0`, 'no mark on a row that the user has left');
    await page.fill('Go to an id, or its beginning', 'd120');
    await page.tab.evaluate(submit);
    await page.sees('Enter opens d120.');
    await page.tab.evaluate(submit);
    await page.until(`location.hash === '#/db/library/document/d120'`, 'the document');
  });

  test('loads whole documents only in a layout that shows them', async () => {
    await openLibrary(30);
    await page.sees('30 documents');
    const whole = `performance.getEntriesByType('resource').filter(({ name }) => name.includes('include_docs')).length`;
    expect(await page.tab.evaluate(whole)).toBe(0);
    await page.sees('Loads ids and revisions, 100 at a time.');
    await page.tab.evaluate(`void document.querySelectorAll('.segments input')[1].click()`);
    await page.until(`document.querySelector('[role=grid]')?.innerText.includes('even')`, 'a field of a document');
    expect(await page.tab.evaluate(whole)).toBe(1);
    await page.sees('Loads whole documents, 50 at a time.');
    expect(await page.violations()).toEqual([]);
    await page.tab.evaluate(`void document.querySelectorAll('.segments input')[2].click()`);
    await page.sees('"kind": "even"');
    expect(await page.violations()).toEqual([]);
  });

  test('remembers the columns that were chosen for a database', async () => {
    await openLibrary(3);
    await page.tab.evaluate(`localStorage.removeItem('settee-utils/columns/library')`);
    await page.sees('3 documents');
    await page.tab.evaluate(`void document.querySelectorAll('.segments input')[1].click()`);
    const titles = `[...document.querySelectorAll('[role=columnheader]')].map((one) => one.textContent).filter(Boolean).join()`;
    await page.until(`${titles} === 'Id,n,kind'`, 'the usual columns');
    await page.press('Columns');
    expect(await page.violations()).toEqual([]);
    await page.tab.evaluate(
      `void [...document.querySelectorAll('.column-choice label')].find((one) => one.textContent === 'n').querySelector('input').click()`,
    );
    await page.fill('Another field', 'not.there');
    await page.press('Add');
    await page.press('Done');
    await page.until(`${titles} === 'Id,kind,not.there'`, 'the chosen columns');
    await page.tab.reload();
    await page.until(`document.querySelectorAll('.segments input').length === 3`, 'the layouts');
    await page.tab.evaluate(`void document.querySelectorAll('.segments input')[1].click()`);
    await page.until(`${titles} === 'Id,kind,not.there'`, 'the chosen columns');
  });

  test('filters by the beginning of ids, by design documents and by what was deleted', async () => {
    await openLibrary(120);
    await page.ask('PUT', 'library/_design/one', {});
    const stored = await page.ask('GET', 'library/d119');
    await page.ask('DELETE', `library/d119?rev=${Object(stored)._rev}`);
    await page.fill('Show', 'prefix');
    await page.fill('Beginning of the ids', 'd10');
    await page.sees('10 documents match');
    await page.fill('Beginning of the ids', 'd1');
    await page.sees('19 documents match');
    await page.fill('Show', 'design');
    await page.sees('1 design document matches');
    await page.sees('_design/one');
    await page.fill('Show', 'deleted');
    await page.sees('1 deleted document');
    await page.sees('d119');
    expect(await page.violations()).toEqual([]);
  });

  test('says of a selector at least how many there are, and counts exactly', async () => {
    await openLibrary(250);
    await page.fill('Show', 'selector');
    await page.fill('Selector', '{"kind": ');
    await page.press('Filter');
    await page.sees('The selector is not JSON');
    await page.fill('Selector', '{"kind": "odd"}');
    await page.press('Filter');
    await page.sees('At least 100 documents match');
    expect(await page.violations()).toEqual([]);
    await page.press('Count exactly');
    await page.sees('125 documents match');
    await page.focus('[role=grid]');
    await page.key('End');
    await page.until(isWhole('d199'), 'the last row that is loaded');
  });

  test('can be stopped while it counts', async () => {
    await openLibrary(250);
    await page.fill('Show', 'selector');
    await page.fill('Selector', '{}');
    await page.press('Filter');
    await page.sees('At least 100 documents match');
    await page.tab.evaluate(`void (() => {
      const real = fetch;
      window.fetch = (address, init) => new Promise((_, refuse) => init.signal.addEventListener('abort', () => { window.fetch = real; refuse(init.signal.reason); }));
    })()`);
    await page.press('Count exactly');
    await page.sees('Counting: 0 so far …');
    await page.press('Stop counting');
    await page.sees('At least 100 documents match');
  });

  test('is as it was after a document was looked at', async () => {
    await openLibrary(150);
    await page.fill('Show', 'prefix');
    await page.fill('Beginning of the ids', 'd1');
    await page.sees('50 documents match');
    await page.seesNo('150 documents match');
    await page.focus('[role=grid]');
    await page.key(' ');
    await page.key('End');
    await page.until(isWhole('d149'), 'the last row');
    await page.key('Enter');
    await page.until(`location.hash.endsWith('/document/d149')`);
    await page.tab.back();
    await page.sees('50 documents match');
    await page.sees('1 of 50 selected');
    await page.until(isInSight('d149'), 'the row that had the focus');
  });

  test('lists the keys that work on the screen, at the key ?', async () => {
    await openLibrary(3);
    await page.sees('3 documents');
    await page.key('?', { shiftKey: true });
    await page.sees('select the document, or not');
    await page.sees('review what is edited, and store it');
    expect(await page.violations()).toEqual([]);
    await page.tab.evaluate(`void document.querySelector('dialog [role=switch]').click()`);
    await page.press('Close');
    await page.key('?', { shiftKey: true });
    await page.seesNo('select the document, or not');
    await page.goTo('#/');
    await page.press('Keys');
    await page.seesNo('select the document, or not');
    await page.sees('leave a text editor, in which Tab indents');
    await page.tab.evaluate(`void document.querySelector('dialog [role=switch]').click()`);
    await page.press('Close');
    await page.goTo('#/db/library');
    await page.sees('3 documents');
    await page.key('/');
    expect(await page.tab.evaluate('document.activeElement.id')).toBe('go-to-id');
    await page.key('?', { shiftKey: true });
    await page.seesNo('leave a text editor, in which Tab indents');
  });

  test('breaks no rule of accessibility, with documents or without', async () => {
    await openLibrary(0);
    await page.sees('This database has no documents yet.');
    expect(await page.violations()).toEqual([]);
    await page.ask('PUT', 'library/a', {});
    await page.goTo('#/');
    await page.goTo('#/db/library');
    await page.sees('1 document');
    await page.focus('[role=grid]');
    await page.key(' ');
    await page.sees('1 of 1 selected');
    expect(await page.violations()).toEqual([]);
  });
});
