import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Core } from '../../../../../src/core/core.ts';
import { isStream } from '../../../../../src/http/request/bodies.ts';
import { ask, askJson, openCore, pick, pluck, textOf } from '../../support.ts';

let core: Core;

/** Documents a, b, d and _design/x, a deleted c, and local documents p and q. */
beforeAll(async () => {
  core = await openCore();
  await ask(core, 'PUT /db');
  const docs = [
    { _id: 'a', _rev: '1-a', n: 1 },
    { _id: 'b', _rev: '1-b' },
    { _id: 'b', _rev: '1-c' },
    { _id: 'c', _rev: '1-c', _deleted: true },
    { _id: 'd', _rev: '1-d' },
    { _id: '_design/x', _rev: '1-x' },
    { _id: '_local/p', n: 1 },
    { _id: '_local/q' },
  ];
  await ask(core, 'POST /db/_bulk_docs', { body: JSON.stringify({ docs, new_edits: false }) });
});

afterAll(() => core.close());

async function get(path: string, body: string | null = null): Promise<string> {
  const answer = await ask(core, `${body === null ? 'GET' : 'POST'} /db/${path}`, { body });
  expect(answer.status).toBe(200);
  return textOf(answer.body);
}

async function idsOf(path: string): Promise<unknown> {
  const list: unknown = JSON.parse(await get(path));
  return [pluck(pick(list, 'rows'), 'id').join(' '), pick(list, 'offset'), pick(list, 'total_rows')];
}

const row = (id: string, rev: string, more = '') => `{"id":"${id}","key":"${id}","value":{"rev":"${rev}"}${more}}`;

describe('_all_docs', () => {
  test('has its rows line by line', async () => {
    expect(await get('_all_docs?limit=2&update_seq=true')).toBe(
      `{"total_rows":4,"offset":0,"update_seq":6,"rows":[\r\n${row('_design/x', '1-x')},\r\n${row('a', '1-a')}\r\n]}\n`,
    );
    expect(await get('_all_docs?limit=0')).toBe('{"total_rows":4,"offset":0,"rows":[\r\n\r\n]}\n');
  });

  test('includes documents and their conflicts on request', async () => {
    expect(await get('_all_docs?key="a"&include_docs=true')).toContain(
      row('a', '1-a', ',"doc":{"_id":"a","_rev":"1-a","n":1}'),
    );
    expect(await get('_all_docs?key="b"&include_docs=true&conflicts=true')).toContain(
      row('b', '1-c', ',"doc":{"_id":"b","_rev":"1-c","_conflicts":["1-b"]}'),
    );
    expect(await get('_all_docs?key="b"&include_docs=true')).toContain(
      row('b', '1-c', ',"doc":{"_id":"b","_rev":"1-c"}'),
    );
    expect(await get('_all_docs?key="b"&conflicts=true')).toContain(row('b', '1-c'));
  });

  test.each([
    ['', ['_design/x a b d', 0, 4]],
    ['?startkey="a"', ['a b d', 1, 4]],
    ['?startkey="b"&endkey="d"&inclusive_end=false', ['b', 2, 4]],
    ['?descending=true', ['d b a _design/x', 0, 4]],
    ['?descending=true&startkey="b"&endkey="a"', ['b a', 1, 4]],
    ['?startkey="a"&skip=1&limit=1', ['b', 2, 4]],
    ['?startkey="z"', ['', 4, 4]],
    ['?startkey="d"&endkey="a"', ['', 3, 4]],
    ['?key=7', ['', 0, 4]],
    ['?startkey={}', ['', 4, 4]],
    ['?startkey=null&endkey={}', ['_design/x a b d', 0, 4]],
  ])('%s', async (search, expected) => {
    expect(await idsOf(`_all_docs${search}`)).toEqual(expected);
  });

  test('returns a row for each key, in order', async () => {
    const rows = [
      row('d', '1-d', ',"doc":{"_id":"d","_rev":"1-d"}'),
      '{"id":"c","key":"c","value":{"rev":"1-c","deleted":true},"doc":null}',
      '{"key":"nobody","error":"not_found"}',
      '{"key":7,"error":"not_found"}',
      '{"key":"_odd","error":"not_found"}',
      row('d', '1-d', ',"doc":{"_id":"d","_rev":"1-d"}'),
    ];
    const keys = '["d","c","nobody",7,"_odd","d"]';
    expect(await get('_all_docs?include_docs=true', `{"keys":${keys}}`)).toBe(
      `{"total_rows":4,"offset":0,"rows":[\r\n${rows.join(',\r\n')}\r\n]}\n`,
    );
    expect(await get(`_all_docs?include_docs=true&keys=${encodeURIComponent(keys)}`)).toBe(
      `{"total_rows":4,"offset":0,"rows":[\r\n${rows.join(',\r\n')}\r\n]}\n`,
    );
    expect(await get('_all_docs?skip=1&limit=2&descending=true', '{"keys":["a","b","c","d"]}')).toBe(
      '{"total_rows":4,"offset":1,"rows":[\r\n{"id":"c","key":"c","value":{"rev":"1-c","deleted":true}},\r\n' +
        `${row('b', '1-c')}\r\n]}\n`,
    );
    expect(await get('_all_docs', '{}')).toBe(await get('_all_docs'));
  });

  test('answers thousands of keys', async () => {
    const keys = Array.from({ length: 1000 }, (_, index) => (index % 2 === 0 ? 'a' : `none${index}`));
    const list: unknown = JSON.parse(await get('_all_docs', JSON.stringify({ keys })));
    expect(pluck(pick(list, 'rows'), 'key')).toEqual(keys);
  });

  test('answers several queries at once', async () => {
    const queries = '{"queries":[{"keys":["a"]},{"startkey":"b","limit":1},{"endkey":[],"key":"d"}]}';
    expect(await get('_all_docs/queries', queries)).toBe(
      `{"results":[\r\n{"total_rows":4,"offset":0,"rows":[\r\n${row('a', '1-a')}\r\n]},\r\n` +
        `{"total_rows":4,"offset":2,"rows":[\r\n${row('b', '1-c')}\r\n]},\r\n` +
        `{"total_rows":4,"offset":3,"rows":[\r\n${row('d', '1-d')}\r\n]}\r\n]}\n`,
    );
    expect(await askJson(core, 'POST /db/_all_docs/queries', { body: '{"queries":{}}' })).toEqual([
      400,
      { error: 'bad_request', reason: '`queries` must be a JSON list of objects.' },
    ]);
  });

  test('has an ETag that any write changes', async () => {
    const first = await ask(core, 'GET /db/_all_docs');
    const headers = { 'if-none-match': String(pick(first.headers, 'etag')) };
    expect(await ask(core, 'GET /db/_all_docs', { headers })).toMatchObject({ status: 304, body: null });
    const made = await askJson(core, 'PUT /db/passing', { body: '{}' });
    expect((await ask(core, 'GET /db/_all_docs', { headers })).status).toBe(200);
    await ask(core, 'POST /db/_purge', { body: JSON.stringify({ passing: [pick(made, 1, 'rev')] }) });
    expect((await ask(core, 'GET /db/_all_docs', { headers })).status).toBe(200);
  });
});

/** So that whoever reads it can parse what came while the rest is made. */
test('a long list is sent in chunks of at least 64 K characters, each cut between two rows', async () => {
  const ids = Array.from({ length: 2000 }, (_, index) => `a${String(index).padStart(4, '0')}`);
  const docs = ids.map((_id) => ({ _id, text: 'x'.repeat(100) }));
  await ask(core, 'PUT /long');
  await ask(core, 'POST /long/_bulk_docs', { body: JSON.stringify({ docs }) });
  for (const query of ['', '?include_docs=true']) {
    const { body } = await ask(core, `GET /long/_all_docs${query}`);
    const pieces: string[] = [];
    if (!isStream(body)) throw new Error('a stream was expected');
    for (let piece = await body.pullText?.(); piece !== undefined; piece = await body.pullText?.()) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(1);
    const [first = '', ...rest] = pieces;
    const rows = first.replace('{"total_rows":2000,"offset":0,"rows":[\r\n', '');
    const elements = [rows, ...rest.map((piece) => piece.replace(/^,\r\n/, ''))];
    elements.push(String(elements.pop()).replace(/\r\n\]\}\n$/, ''));
    expect(elements.flatMap((piece) => pluck(JSON.parse(`[${piece}]`), 'id'))).toEqual(ids);
    expect(Math.min(...pieces.slice(0, -1).map((piece) => piece.length))).toBeGreaterThanOrEqual(65_536);
    expect(Math.max(...pieces.map((piece) => piece.length))).toBeLessThan(400_000);
  }
});

test('_design_docs lists the design documents', async () => {
  expect(await idsOf('_design_docs')).toEqual(['_design/x', 0, 1]);
  expect(await idsOf('_design_docs?descending=true')).toEqual(['_design/x', 0, 1]);
  expect(await idsOf('_design_docs?startkey="_design/y"')).toEqual(['', 1, 1]);
  expect(await idsOf('_design_docs?startkey="a"')).toEqual(['', 1, 1]);
  expect(await get('_design_docs', '{"keys":["_design/x","a"]}')).toBe(
    `{"total_rows":1,"offset":0,"rows":[\r\n${row('_design/x', '1-x')},\r\n{"key":"a","error":"not_found"}\r\n]}\n`,
  );
});

test('_local_docs lists the local documents', async () => {
  expect(await idsOf('_local_docs')).toEqual(['_local/p _local/q', 0, 2]);
  expect(await idsOf('_local_docs?startkey="_local/q"')).toEqual(['_local/q', 1, 2]);
  expect(await idsOf('_local_docs?descending=true&limit=1')).toEqual(['_local/q', 0, 2]);
  expect(await get('_local_docs?include_docs=true', '{"keys":["_local/p","a"]}')).toBe(
    `{"total_rows":2,"offset":0,"rows":[\r\n${row('_local/p', '0-1', ',"doc":{"_id":"_local/p","_rev":"0-1","n":1}')},\r\n` +
      '{"key":"a","error":"not_found"}\r\n]}\n',
  );
});
