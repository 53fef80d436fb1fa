import { describe, expect, test } from 'vitest';
import countries from 'world-countries';
import { emitNameWords, isNamed, nameWords, wordsOf } from '../../../demo/src/data/names.ts';
import { slug } from '../../../demo/src/data/slug.ts';
import { FoundRows } from '../../../demo/src/list/found-rows.ts';

const documents = countries.map((country) => ({ _id: slug(country.name.common), _rev: '1-a', ...country }));

/** The ids of the countries that a search text finds. */
function found(text: string): readonly string[] {
  const words = wordsOf(text);
  return documents.filter((document) => isNamed(document, words)).map(({ _id }) => _id);
}

function emitted(document: object): readonly string[] {
  const words: string[] = [];
  new Function('emit', `return ${emitNameWords}`)((word: string) => words.push(word))(document);
  return words;
}

describe('the names of countries', () => {
  test('are found in any language and script, by the beginnings of their words', () => {
    expect(found('Deutschland')).toEqual(['germany']);
    expect(found('Österreich')).toEqual(['austria']);
    expect(found('osterr')).toEqual(['austria']);
    expect(found('россия')).toEqual(['russia']);
    expect(found('日本')).toEqual(['japan']);
    expect(found('lanka')).toEqual(['sri-lanka']);
    expect(found('atlantis')).toEqual([]);
  });

  test('are found by several words, in any order', () => {
    expect(found('zealand new')).toEqual(['new-zealand']);
    expect(found('new-zealand')).toEqual(['new-zealand']);
  });

  test('are the same words in the view as in the page', () => {
    expect(documents).toHaveLength(250);
    for (const document of documents) expect(emitted(document)).toEqual([...nameWords(document)]);
  });

  test('may be anything', () => {
    expect([...nameWords({ _id: 'x', name: 7, translations: null, altSpellings: [['Ærø']] })]).toEqual(['x', 'aero']);
  });
});

describe('the rows that a search for names found', () => {
  const row = (id: string) => ({ id, doc: { _id: id, _rev: '1-a', name: { common: id } } });
  const ids = (rows: FoundRows) => rows.page.map(({ id }) => id);

  test('are those first whose ids begin with it', () => {
    expect(ids(new FoundRows([row('papua-new-guinea'), row('new-zealand')], ['new'], 'new'))).toEqual([
      'new-zealand',
      'papua-new-guinea',
    ]);
  });

  test('follow what is changed, added and deleted', () => {
    const rows = new FoundRows([row('new-zealand')], ['new'], 'new');
    const change = (id: string, document?: object) =>
      rows.follow({ id, rev: '2-b', isOwn: false, document: document && { _id: id, _rev: '2-b', ...document } });
    change('newfoundland', { name: { common: 'Newfoundland' } });
    change('peru', { name: { common: 'Peru' } });
    expect(ids(rows)).toEqual(['new-zealand', 'newfoundland']);
    change('peru', { name: { common: 'Peru' }, altSpellings: ['New Castile'] });
    change('newfoundland');
    expect(ids(rows)).toEqual(['new-zealand', 'peru']);
    expect(rows.total).toBe(2);
  });

  test('are shown a page at a time', () => {
    const many = Array.from({ length: 45 }, (_, index) => row(`new-${10 + index}`));
    const rows = new FoundRows(many, ['new'], 'new');
    rows.turn(false);
    expect([rows.before, ids(rows)]).toEqual([40, ['new-50', 'new-51', 'new-52', 'new-53', 'new-54']]);
    rows.turn(false);
    expect(rows.before).toBe(40);
    rows.turn(true);
    expect(rows.before).toBe(0);
  });
});
