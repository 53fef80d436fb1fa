/** What the JSON of a request becomes is held, and refused where it is more than all requests may take: a server with 2 MB for them. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Core } from '../../../src/core/core.ts';
import { ask, openCore, textOf } from './support.ts';

let core: Core;

beforeEach(async () => {
  core = await openCore({ httpd: { max_bytes_in_flight: '2097152' } });
  await ask(core, 'PUT /db');
});

afterEach(() => core.close());

async function answerTo(what: string, text: string): Promise<readonly [number, unknown]> {
  const { status, body } = await ask(core, what, { body: new TextEncoder().encode(text) });
  return [status, JSON.parse(await textOf(body))];
}

const list = (item: string, count: number) => Array.from({ length: count }, () => item).join(',');

const tooMany = (what: string) => [
  413,
  {
    error: 'too_large',
    reason: `the request entity is too large: its ${what} would take more memory than the 2097152 bytes of httpd/max_bytes_in_flight; nothing was changed. Send fewer ${what} at a time.`,
  },
];

describe('costly JSON is refused, and nothing is changed', () => {
  test.each([
    ['very many documents', 'POST /db/_bulk_docs', `{"docs":[${list('{}', 10_000)}]}`, 'documents'],
    [
      'those of a list that comes twice',
      'POST /db/_bulk_docs',
      `{"docs":[],"docs":[${list('{}', 10_000)}]}`,
      'documents',
    ],
    ['very many keys', 'POST /db/_all_docs', `{"keys":[${list('[]', 30_000)}]}`, 'values'],
    ['very many lists', 'POST /db/_all_docs/queries', `{"queries":[${list('{}', 30_000)}]}`, 'values'],
    ['very many entries', 'POST /db/_bulk_get', `{"docs":[${list('{}', 30_000)}]}`, 'values'],
    [
      'very many names',
      'POST /db/_purge',
      `{${Array.from({ length: 6_000 }, (_, n) => `"${n}":[]`).join(',')}}`,
      'values',
    ],
  ])('%s', async (_what, request, text, what) => {
    expect(await answerTo(request, text)).toEqual(tooMany(what));
    expect((await answerTo('GET /db', '')).at(1)).toMatchObject({ doc_count: 0, update_seq: 0 });
  });

  test('an object with more than 65,536 members', async () => {
    await core.close();
    core = await openCore();
    await ask(core, 'PUT /db');
    const members = Array.from({ length: 65_537 }, (_, n) => `"${n}":1`).join(',');
    expect(await answerTo('POST /db/_all_docs', `{${members}}`)).toEqual([
      413,
      {
        error: 'too_large',
        reason:
          'the request entity is too large: an object in a body of this kind may have 65536 members; nothing was changed. Send fewer at a time, or a list of them.',
      },
    ]);
    const [status] = await answerTo('PUT /db/doc', `{${members}}`);
    expect(status).toBe(201);
  });
});

describe('costly JSON is accepted', () => {
  test('with a thousand documents, and for many values that only the text has', async () => {
    const docs = list('{}', 1_000);
    expect((await answerTo('POST /db/_bulk_docs', `{"docs":[${docs}]}`)).at(0)).toBe(201);
    const doc = `{"_id":"a","list":[${list('[]', 60_000)}],"list":[${list('[]', 60_000)}]}`;
    expect(await answerTo('POST /db/_bulk_docs', `{"docs":[${doc}]}`)).toEqual([
      201,
      [{ ok: true, id: 'a', rev: expect.stringMatching(/^1-/) }],
    ]);
    expect((await answerTo('PUT /db/b', doc.replace('"_id":"a",', ''))).at(0)).toBe(201);
  });

  test('in a long document with a repeated name and other values that need a second pass', async () => {
    const names = Array.from({ length: 100_000 }, (_, n) => `"n${n}":${n}`).join(',');
    const text = `{"n1":"first", ${names},"emoji":"\\ud83d\\ude00","n2":"last","_deleted":false}`;
    expect((await answerTo('PUT /db/long', text)).at(0)).toBe(201);
    const { body } = await ask(core, 'GET /db/long');
    const found = await textOf(body);
    expect(found.slice(found.indexOf('"n1"'), found.indexOf('"n1"') + 34)).toBe('"n1":1,"n0":0,"n2":"last","n3":3,"');
    expect(found.trimEnd().slice(-24)).toBe(',"emoji":"\\ud83d\\ude00"}'.slice(-24));
    const [status, refused] = await answerTo('PUT /db/half', text.replace('\\ude00', ''));
    expect([status, refused]).toEqual([
      400,
      {
        error: 'bad_request',
        reason: 'A string has a lone surrogate, such as "\\ud800", which is no character. Send whole characters.',
      },
    ]);
  });
});
