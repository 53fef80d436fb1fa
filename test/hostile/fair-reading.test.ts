import { describe, test } from 'vitest';
import { type Attack, attack, DOCUMENTS, idOf, numbers, timeout, useFullDatabases } from './support/full-databases.ts';

useFullDatabases();

const rows = /\}\r\n\]\}\n$/;

describe('other clients are served in time while one asks for many items', () => {
  const attacks: readonly Attack[] = [
    ['documents', 200, rows, 'GET', '/many/_all_docs'],
    ['documents with their bodies', 200, rows, 'GET', '/many/_all_docs?include_docs=true'],
    [
      'documents with their conflicts, backwards',
      200,
      rows,
      'GET',
      '/many/_all_docs?include_docs=true&conflicts=true&descending=true',
    ],
    ['documents, after skipping most', 200, rows, 'GET', `/many/_all_docs?skip=${DOCUMENTS - 10}`],
    ['rows of a view', 200, rows, 'GET', '/many/_design/d/_view/by_n?reduce=false'],
    ['rows of a view with documents', 200, rows, 'GET', '/many/_design/d/_view/by_n?reduce=false&include_docs=true'],
    ['groups of a built-in reduce', 200, rows, 'GET', '/many/_design/d/_view/by_n?group=true'],
    ['groups of a reduce function', 200, rows, 'GET', '/many/_design/d/_view/counted?group=true'],
    ['rows of a list', 200, /doc-\d+\n$/, 'GET', '/many/_design/d/_list/all/by_n?reduce=false'],
    [
      'answers to a query',
      200,
      /"bookmark":/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: { n: { $gte: 0 } }, limit: DOCUMENTS } }),
    ],
  ];

  test.for(attacks)('%s', { timeout }, (each) => attack(each, 3));
});

describe('other clients are served in time while one asks for large results', () => {
  const attacks: readonly Attack[] = [
    [
      'documents that no index knows',
      200,
      /"docs":\[\s*\]|bookmark/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: { none: 1 } } }),
    ],
    [
      'documents by a pattern that goes back for ever',
      200,
      /The number of documents examined is high/,
      'POST',
      '/many/_find',
      () => ({
        json: { selector: { _id: { $lt: idOf(5_000) }, text: { $regex: '^(a|[a-z ]|[a-z ][a-z ])*!$' } }, limit: 5 },
      }),
    ],
    [
      'documents by one of many values',
      200,
      /bookmark/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: { group: { $in: numbers.slice(0, 1_000).map((n) => n + 10) } }, limit: 5 } }),
    ],
    [
      'documents by many conditions',
      200,
      /bookmark/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: { $or: numbers.slice(0, 300).map((n) => ({ group: -1 - n })) }, limit: 5 } }),
    ],
    [
      'an order that no index has',
      400,
      /no_usable_index/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: {}, sort: numbers.slice(0, 1_000).map((n) => `f${n}`) } }),
    ],
    [
      'an order by more fields than there may be',
      400,
      /invalid_sort_json/,
      'POST',
      '/many/_find',
      () => ({ json: { selector: {}, sort: numbers.map((n) => `f${n}`) } }),
    ],
    ['all revisions of a document', 200, /\]\n$/, 'GET', '/conflicts/contested?open_revs=all&revs=true'],
    ['the conflicts of a document', 200, /\}\n$/, 'GET', '/conflicts/contested?conflicts=true&revs_info=true'],
  ];

  test.for(attacks)('%s', { timeout }, (each) => attack(each));
});

describe('other clients are served in time while one names many items', () => {
  const ids = () => numbers.map(idOf);
  const revisions = () => Object.fromEntries(ids().map((id) => [id, [`1-${'a'.repeat(32)}`]]));
  const attacks: readonly Attack[] = [
    ['ids', 200, /\]\}\n$/, 'POST', '/many/_all_docs', () => ({ json: { keys: ids() } })],
    [
      'ids of documents that are asked for',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_all_docs?include_docs=true',
      () => ({ json: { keys: ids() } }),
    ],
    [
      'keys of a view',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_design/d/_view/by_n?reduce=false',
      () => ({ json: { keys: numbers } }),
    ],
    [
      'keys of a reduce',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_design/d/_view/by_n?group=true',
      () => ({ json: { keys: numbers } }),
    ],
    ['revisions that may be missing', 200, /\}\n$/, 'POST', '/many/_revs_diff', () => ({ json: revisions() })],
    [
      'revisions that may be missing, in the old way',
      200,
      /\}\n$/,
      'POST',
      '/many/_missing_revs',
      () => ({ json: revisions() }),
    ],
    [
      'revisions of one document',
      200,
      /\}\n$/,
      'POST',
      '/conflicts/_revs_diff',
      () => ({ json: { contested: numbers.slice(0, 5_000).map((n) => `1-${String(n).padStart(32, '0')}`) } }),
    ],
    [
      'revisions to read',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_bulk_get',
      () => ({ json: { docs: ids().map((id) => ({ id })) } }),
    ],
    [
      'ids whose changes are asked for',
      200,
      /"pending":0\}\n$/,
      'POST',
      '/many/_changes?filter=_doc_ids',
      () => ({ json: { doc_ids: ids() } }),
    ],
    ['revisions to purge', 200, /\}\n$/, 'POST', '/many/_purge', () => ({ json: revisions() })],
    [
      'queries',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_all_docs/queries',
      () => ({ json: { queries: numbers.slice(0, 20_000).map((n) => ({ keys: [idOf(n)] })) } }),
    ],
    [
      'queries of a view',
      200,
      /\]\}\n$/,
      'POST',
      '/many/_design/d/_view/by_n/queries',
      () => ({ json: { queries: numbers.slice(0, 20_000).map((n) => ({ key: n, reduce: false })) } }),
    ],
    [
      'databases',
      200,
      /\]\n$/,
      'POST',
      '/_dbs_info',
      () => ({ json: { keys: numbers.slice(0, 80_000).map((n) => `db${n}`) } }),
    ],
  ];

  test.for(attacks)('%s', { timeout }, (each) => attack(each));
});
