import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { type AdminPage, useAdminPage } from './admin-page.ts';

const YEARS = {
  views: { years: { map: 'function (doc) { emit(doc.year, doc.pages); }', reduce: '_sum' } },
};

describe.each(chosenEngines())('queries, views and shape on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  test('says how a query runs, and makes the index that would help', async () => {
    await openLibrary(page);
    await page.goTo('#/db/library/query');
    await page.type('Query', '{"selector": {"author": "Austen"}, "fields": ["_id", "year"]}');
    await page.press('Run');
    await page.sees('40 documents examined, 2 returned 20 for each result.');
    await page.until(`document.querySelector('.examined.bad') !== null`, 'the figures in red');
    await page.sees('Reads all documents: no index can be used.');
    await page.sees('Each document that was read is then checked for {"author":{"$eq":"Austen"}}.');
    await page.sees('An index by author would help.');
    await page.sees('_id year book-00 1900 book-20 1920');
    await page.press('Make this index');
    await page.sees('_design/by-author, which replicates to peers like any other document.');
    await page.sees('await fetch("/library/_index", {');
    await page.press('Make index');
    await page.sees('Reads the index by-author of _design/by-author, which is sorted by author.');
    await page.sees('Reads the part where author is "Austen".');
    await page.sees('2 documents examined, 2 returned');
    await page.seesNo('would help');
    await page.sees('by-author by author _design/by-author');
    expect(
      await page.tab.evaluate(`getComputedStyle(document.querySelector('[aria-label=Indexes] li')).paddingLeft`),
    ).toBe('12px');
    await page.press('Delete the index by-author');
    await page.press('Delete');
    await page.sees('There is none yet: every query reads all documents');
    expect(await page.ask('GET', 'library/_index')).toEqual({
      total_rows: 1,
      indexes: [{ ddoc: null, name: '_all_docs', type: 'special', def: { fields: [{ _id: 'asc' }] } }],
    });
  });

  test('shows the pages of a result, and keeps queries by name', async () => {
    await openLibrary(page);
    await page.goTo('#/db/library/query');
    await page.type('Query', '{"selector": {}, "fields": ["_id"], "limit": 30}');
    await page.fill('Name of this query', 'All');
    await page.press('Save');
    await page.sees('All');
    await page.press('Run');
    await page.sees('The selector has no conditions: documents are read by their ids until the page is full.');
    await page.sees('book-29');
    await page.press('Next page');
    await page.sees('10 returned');
    await page.sees('book-39');
    await page.seesNo('book-29');
    await page.type('Query', '{"selector": ');
    await page.press('Run');
    await page.sees('The query is not JSON');
    await page.press('All');
    await page.press('Run');
    await page.sees('book-29');
    await page.press('Forget the query All');
    await page.until(`localStorage.getItem('settee-utils/queries/library') === '{}'`);
  });

  test('says at once that a query has brought its index up to date', async () => {
    await openLibrary(page);
    await page.ask('POST', 'library/_index', { index: { fields: ['author'] }, ddoc: 'by-author', name: 'by-author' });
    // Built once, it is not built in the background.
    await page.ask('POST', 'library/_find', { selector: { author: 'Austen' } });
    await page.ask('PUT', 'library/other', { author: 'Woolf' });
    // Nothing is read again because of the time.
    await page.tab.evaluate('void (globalThis.setInterval = () => 0)');
    await page.goTo('#/db/library/query');
    await page.sees('1 change behind');
    await page.type('Query', '{"selector": {"author": "Austen"}, "fields": ["_id", "year"]}');
    await page.press('Run');
    await page.sees('2 documents examined, 2 returned');
    await page.sees('up to date');
    await page.seesNo('1 change behind');
  });

  test('offers the index that a sort needs beside the error', async () => {
    await openLibrary(page);
    await page.goTo('#/db/library/query');
    await page.type('Query', '{"selector": {"year": {"$gt": 1930}}, "sort": ["year"]}');
    await page.press('Run');
    await page.sees('No index exists for this sort');
    await page.sees('An index by year would help.');
    await page.press('Make this index');
    await page.press('Make index');
    await page.sees('Reads the part where year is above 1930.');
    await page.sees('9 documents examined, 9 returned');
  });

  test('opens a view without building it, and builds it when asked', async () => {
    await openLibrary(page, YEARS);
    await page.goTo('#/db/library/views');
    await page.sees('_design/books');
    await page.sees('40 changes behind');
    await page.press('years');
    await page.sees('0 rows in the view The index has no rows here.');
    await page.sees('40 changes behind');
    await page.sees('The server may build it by itself, but need not.');
    await page.press('Build now');
    await page.sees('up to date');
    await page.seesNo('need not');
    await page.sees('40 rows in the view');
    await page.sees('1900 10 book-00');
    await page.fill('Start key', 'nineteen');
    await page.press('Apply keys');
    await page.sees('Start key is not JSON. Put text in double quotes: "nineteen".');
    await page.fill('Start key', '1938');
    await page.fill('Show', 'all');
    await page.sees('Key Value null 20');
  });

  test('reads rows again that came before the build, though the state of the index came after it', async () => {
    await openLibrary(page, YEARS);
    await page.tab.evaluate(`void (() => {
      const real = fetch;
      let onRows;
      const rows = new Promise((resolve) => { onRows = resolve; });
      window.fetch = async (url, init) => {
        if (String(url).endsWith('/_info')) await rows.then(() => real('/library/_design/books/_view/years?limit=0'));
        const response = await real(url, init);
        if (String(url).includes('update=false')) onRows();
        return response;
      };
    })()`);
    await page.goTo('#/db/library/views/books/years');
    await page.sees('up to date');
    await page.sees('40 rows in the view');
  });

  test('shows a view as it is chosen, without a further press', async () => {
    await openLibrary(page, {
      views: { rooms: { map: 'function (doc) { emit([doc.author, doc.year], 1); }', reduce: '_sum' } },
    });
    await page.goTo('#/db/library/views/books/rooms');
    await page.build();
    await page.sees('40 rows in the view');
    await page.fill('Show', '1');
    await page.sees('Key Value ["Austen"] 2 ["Joyce"] 38');
    await page.fill('Show', 'key');
    await page.sees('["Austen",1900] 1 ["Austen",1920] 1');
    await page.tab.evaluate(`document.querySelector('.row-form [type=checkbox]').click()`);
    await page.sees('Key Value ["Joyce",1939] 1');
    await page.fill('Show', 'rows');
    await page.sees('["Joyce",1939] 1 book-39');
  });

  test('shows the rows of a view in pages of 100, also those that one document emits with one key', async () => {
    await openLibrary(page, {
      views: { years: { map: 'function (doc) { for (var i = 0; i < 250; i += 1) emit(doc.author, i); }' } },
    });
    await page.goTo('#/db/library/views/books/years');
    await page.build();
    await page.sees('10,000 rows in the view');
    await page.sees('"Austen" 99 book-00');
    await page.press('Next page');
    await page.sees('"Austen" 100 book-00');
    await page.press('Next page');
    await page.sees('"Austen" 249 book-00 "Austen" 0 book-20');
    await page.press('Previous page');
    await page.sees('"Austen" 199 book-00');
    await page.seesNo('"Austen" 200 book-00');
  });

  test('keeps what was typed into a draft until it is discarded', async () => {
    await openLibrary(page, YEARS);
    await page.goTo('#/db/library/views/books/years');
    await page.press('Edit as a draft');
    await page.type('Map function', 'function (doc) { emit(1, null); }');
    await page.goTo('#/db/library/views');
    await page.goTo('#/db/library/views?draft=books%2Fyears');
    await page.type('Reduce function', '');
    await page.press('Run');
    await page.sees('Key Value Document 1 null book-00');
    await page.press('Discard the draft');
    await page.until(
      `[...document.querySelectorAll('.editor > div')].some(({ shadowRoot }) => shadowRoot?.textContent.includes('emit(doc.year, doc.pages)'))`,
      'the stored view in the editor',
    );
    await page.press('Run');
    await page.sees('1900 10 book-00');
  });

  test('runs a draft on some documents, says where it fails, and saves it after a review', async () => {
    await openLibrary(page);
    await page.goTo('#/db/library/views');
    await page.press('Draft a view');
    await page.type('Map function', 'function (doc) {\n  emit(doc.year, 1;\n}');
    await page.press('Run');
    await page.sees("Map, line 2: SyntaxError: expecting ','");
    await page.type('Map function', 'function (doc) {\n  emit("all", 1);\n  emit(doc.shelf.room, doc.pages);\n}');
    await page.type('Reduce function', '_sum');
    await page.press('Run');
    await page.sees("Map, line 3: TypeError: cannot read property 'room' of undefined In 20 documents, first book-01.");
    await page.sees('40 rows from 40 documents.');
    await page.sees('Reduced, by key Key Value 0 100 2 100 "all" 20');
    // Who has many rows need not go past them to save the draft.
    expect(
      await page.tab.evaluate(
        `document.querySelector('.save-form').getBoundingClientRect().bottom < document.querySelector('.row-table').getBoundingClientRect().top`,
      ),
    ).toBe(true);
    await page.fill('on the first', '10');
    await page.sees('10 rows from 10 documents.');
    await page.type('Map function', 'function (doc) {\n  emit(doc.year, doc.pages);\n}');
    await page.type('Reduce function', 'function (keys, values) {\n  return values.x.y;\n}');
    await page.press('Run');
    await page.sees("Reduce, line 2: TypeError: cannot read property 'y' of undefined");
    await page.type('Reduce function', '_sum');
    await page.isOff('Review and save', 'Name a design document first.');
    await page.fill('Design document', 'books');
    await page.fill('View', 'pages');
    await page.press('Review and save');
    await page.sees('_design/books is a new design document. It replicates to peers like any other document.');
    await page.press('Save');
    await page.seesNo('_design/books is a new design document.');
    await page.sees('books/pages');
    // The server builds what is new in the background, and the page follows.
    await page.sees('up to date');
    await page.sees('40 rows in the view');
    await page.seesNo('need not');
    expect(await page.ask('GET', 'library/_design/books')).toMatchObject({
      language: 'javascript',
      views: { pages: { map: 'function (doc) {\n  emit(doc.year, doc.pages);\n}', reduce: '_sum' } },
    });
  });

  test('says what a server lacks', async () => {
    await openLibrary(page);
    await page.tab.evaluate(`void (() => {
      const real = fetch;
      const missing = /_temp_view|_explain|_index$/;
      window.fetch = (url, init) => missing.test(String(url))
        ? Promise.resolve(new Response('{"error":"not_found","reason":"missing"}', { status: 404 })) : real(url, init);
    })()`);
    await page.goTo('#/db/library/query');
    await page.sees('This server has no _index.');
    await page.press('Run');
    await page.sees('This server has no _explain.');
    await page.sees('book-00');
    await page.goTo('#/db/library/views?draft=');
    await page.press('Run');
    await page.sees("This server has no _temp_view, so it can't run drafts.");
  });

  test('shows what documents contain, and which are unusual', async () => {
    await openLibrary(page);
    await page.ask('PUT', 'library/book-15b', { author: 'Joyce', year: '1915', pages: 10, isbn: '978' });
    await page.goTo('#/db/library/shape');
    await page.sees('41 documents of 41, spread evenly over the ids.');
    await page.sees('year 100% number 98%, string 2% 1900 to 1939; “1915” string book-15b');
    await page.sees('shelf.room 49% number 0 to 2 –');
    await page.sees('isbn 2% string “978” rare field book-15b');
  });

  test('writes nothing in read-only mode, and says so', async () => {
    await openLibrary(page);
    await page.tab.evaluate(`document.querySelector('.switch input').click()`);
    await page.goTo('#/db/library/query');
    await page.type('Query', '{"selector": {"author": "Austen"}}');
    await page.press('Run');
    const why = 'Read-only mode is on. Switch it off at the bottom of the menu.';
    await page.isOff('Make this index', why);
    await page.goTo('#/db/library/views?draft=');
    await page.isOff('Review and save', why);
  });

  test('shows how far the build of an index is', async () => {
    await openLibrary(page, YEARS);
    await page.tab.evaluate(`void (() => {
      const real = fetch;
      const task = { type: 'indexer', database: 'library', design_document: '_design/books', progress: 43 };
      window.fetch = (url, init) => String(url).endsWith('_active_tasks')
        ? Promise.resolve(new Response(JSON.stringify([task]))) : real(url, init);
    })()`);
    await page.goTo('#/db/library/views');
    await page.sees('40 changes behind Index');
    await page.sees('is being built (43%)');
  });

  test('breaks no rule of accessibility, in light and in dark', async () => {
    await openLibrary(page, YEARS);
    await page.goTo('#/db/library/query');
    await page.type('Query', '{"selector": {"author": "Austen"}}');
    await page.press('Run');
    await page.sees('An index by author would help.');
    await expectNoViolations(page);
    await page.goTo('#/db/library/views');
    await page.sees('changes behind');
    await expectNoViolations(page);
    await page.press('years');
    await page.build();
    await page.sees('40 rows in the view');
    await expectNoViolations(page);
    await page.press('Edit as a draft');
    await page.type('Map function', 'function (doc) { emit(doc.shelf.room, 1); }');
    await page.press('Run');
    await page.sees('Map, line 1:');
    await expectNoViolations(page);
    await page.goTo('#/db/library/shape');
    await page.sees('shelf.room');
    await expectNoViolations(page);
  });
});

/** A page of a database of 40 books. `design`: a design document whose index is complete before the books come. */
async function openLibrary(page: AdminPage, design?: object): Promise<void> {
  await page.serve();
  await page.ask('PUT', 'library');
  if (design !== undefined) {
    await page.ask('PUT', 'library/_design/books', design);
    await page.ask('GET', 'library/_design/books/_view/years');
  }
  const authors = ['Austen', ...Array.from({ length: 19 }, () => 'Joyce')];
  const docs = Array.from({ length: 40 }, (_, at) => ({
    _id: `book-${`${at}`.padStart(2, '0')}`,
    author: authors[at % 20],
    year: 1900 + at,
    pages: 10,
    ...(at % 2 === 0 && { shelf: { room: at % 4 } }),
  }));
  await page.ask('POST', 'library/_bulk_docs', { docs });
  await page.showToAdmin();
}

async function expectNoViolations(page: AdminPage): Promise<void> {
  for (const theme of ['light', 'dark']) {
    await page.tab.evaluate(`void (document.documentElement.dataset.theme = '${theme}')`);
    expect(await page.violations()).toEqual([]);
  }
}
