import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Core } from '../../../../src/core/core.ts';
import { ask, openCore, pick, pluck, textOf } from '../support.ts';

let core: Core;

/** Leaves 3-c (wins) and 2-x above 1-a, and a deleted root 1-z. */
beforeAll(async () => {
  core = await openCore();
  await ask(core, 'PUT /db');
  const docs = [
    { _id: 'doc', _rev: '1-a', n: 1 },
    { _id: 'doc', _rev: '3-c', n: 3, _revisions: { start: 3, ids: ['c', 'b', 'a'] } },
    { _id: 'doc', _rev: '2-x', n: 2, _revisions: { start: 2, ids: ['x', 'a'] } },
    { _id: 'doc', _rev: '1-z', _deleted: true },
  ];
  await ask(core, 'POST /db/_bulk_docs', { body: JSON.stringify({ docs, new_edits: false }) });
});

afterAll(() => core.close());

const three = '{"_id":"doc","_rev":"3-c","n":3}';
const two = '{"_id":"doc","_rev":"2-x","n":2}';
const one = '{"_id":"doc","_rev":"1-a","n":1}';
const gone = '{"_id":"doc","_rev":"1-z","_deleted":true}';

describe('open_revs as JSON', () => {
  test.each([
    ['all', `[{"ok":${three}},{"ok":${two}},{"ok":${gone}}]`],
    ['["2-x","9-z","1-a"]', `[{"ok":${two}},{"missing":"9-z"},{"ok":${one}}]`],
    ['["2-b"]', '[{"missing":"2-b"}]'],
    ['["1-a"]&latest=true', `[{"ok":${three}},{"ok":${two}}]`],
    ['["2-b","1-a","8-q"]&latest=true', `[{"ok":${three}},{"ok":${two}},{"missing":"8-q"}]`],
    ['[]', three],
  ])('%s', async (openRevs, expected) => {
    const answer = await ask(core, `GET /db/doc?open_revs=${openRevs}`);
    expect(answer).toMatchObject({ status: 200, body: `${expected}\n` });
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json' });
  });

  test('of an unknown document is empty or lists missing revisions', async () => {
    expect(await ask(core, 'GET /db/none?open_revs=all')).toMatchObject({ status: 200, body: '[]\n' });
    expect(await ask(core, 'GET /db/none?open_revs=["1-a"]')).toMatchObject({ body: '[{"missing":"1-a"}]\n' });
  });

  test('with revs=true has the ancestry', async () => {
    const { body } = await ask(core, 'GET /db/doc?open_revs=["2-x"]&revs=true');
    expect(body).toBe('[{"ok":{"_id":"doc","_rev":"2-x","_revisions":{"start":2,"ids":["x","a"]},"n":2}}]\n');
  });

  test.each(['some', '"all"', '{"a":1}', '["x"]', '[1]'])('%s is a bad request', async (openRevs) => {
    expect((await ask(core, `GET /db/doc?open_revs=${openRevs}`)).status).toBe(400);
  });
});

describe('open_revs as multipart', () => {
  test.each(['*/*', 'multipart/mixed'])('is chosen for Accept: %s', async (accept) => {
    const answer = await ask(core, 'GET /db/doc?open_revs=["2-x","9-z"]', { headers: { accept } });
    const type = String(pick(answer.headers, 'content-type'));
    const boundary = /^multipart\/mixed; boundary="([0-9a-f]{32})"$/.exec(type)?.[1];
    expect(boundary).toBeDefined();
    expect(await textOf(answer.body)).toBe(
      `--${boundary}\r\nContent-Type: application/json\r\n\r\n${two}` +
        `\r\n--${boundary}\r\nContent-Type: application/json; error="true"\r\n\r\n{"missing":"9-z"}` +
        `\r\n--${boundary}--`,
    );
  });
});

describe('_bulk_get', () => {
  const docs =
    '{"docs":[{"id":"doc","rev":"2-x"},{"id":"doc"},{"id":"none"},{"id":"doc","rev":"9-z"},{"id":"doc","rev":"z"},{}]}';
  const missing = (id: string, rev: string) => `{"id":"${id}","rev":"${rev}","error":"not_found","reason":"missing"}`;
  const refused = (id: string, rev: string, reason: string) =>
    `{"id":"${id}","rev":"${rev}","error":"bad_request","reason":"${reason}"}`;

  test('as JSON has an entry for each request, in order', async () => {
    const entries = [
      `{"id":"doc","docs":[{"ok":${two}}]}`,
      `{"id":"doc","docs":[{"ok":${three}},{"ok":${two}},{"ok":${gone}}]}`,
      `{"id":"none","docs":[{"error":${missing('none', 'undefined')}}]}`,
      `{"id":"doc","docs":[{"error":${missing('doc', '9-z')}}]}`,
      `{"id":"doc","docs":[{"error":${refused('doc', 'z', 'Invalid rev format')}}]}`,
      `{"id":"undefined","docs":[{"error":${refused('undefined', 'undefined', 'Document id must be a string')}}]}`,
    ];
    for (const accept of ['application/json', '*/*', 'application/json, multipart/mixed']) {
      const answer = await ask(core, 'POST /db/_bulk_get', { body: docs, headers: { accept } });
      expect(answer).toMatchObject({ status: 200, body: `{"results":[${entries.join(',')}]}\n` });
    }
  });

  test("is multipart if the client doesn't accept JSON", async () => {
    const body = '{"docs":[{"id":"doc","rev":"1-a"},{"id":"none"}]}';
    const answer = await ask(core, 'POST /db/_bulk_get', { body, headers: { accept: 'multipart/mixed' } });
    const text = await textOf(answer.body);
    const boundary = text.slice(0, 34);
    expect(text).toBe(
      `${boundary}\r\nContent-Type: application/json\r\n\r\n${one}` +
        `\r\n${boundary}\r\nContent-Type: application/json; error="true"\r\n\r\n${missing('none', 'undefined')}` +
        `\r\n${boundary}--`,
    );
  });

  test('with latest=true returns the leaves above the requested revision', async () => {
    const body = '{"docs":[{"id":"doc","rev":"2-b"}]}';
    expect(await ask(core, 'POST /db/_bulk_get?latest=true&revs=true', { body })).toMatchObject({
      body: '{"results":[{"id":"doc","docs":[{"ok":{"_id":"doc","_rev":"3-c","_revisions":{"start":3,"ids":["c","b","a"]},"n":3}}]}]}\n',
    });
  });

  test('answers an empty list, and refuses a missing one', async () => {
    expect(await ask(core, 'POST /db/_bulk_get', { body: '{"docs":[]}' })).toMatchObject({ body: '{"results":[]}\n' });
    expect(await ask(core, 'POST /db/_bulk_get', { body: '{}' })).toMatchObject({
      status: 400,
      body: '{"error":"bad_request","reason":"Missing JSON list of \'docs\'."}\n',
    });
  });

  test('of more than one batch keeps order and duplicates', async () => {
    const asked = Array.from({ length: 250 }, (_, index) => ({
      id: index % 2 === 0 ? 'doc' : `none${index}`,
      rev: '1-a',
    }));
    const { body } = await ask(core, 'POST /db/_bulk_get', { body: JSON.stringify({ docs: asked }) });
    expect(pluck(pick(JSON.parse(await textOf(body)), 'results'), 'id')).toEqual(asked.map(({ id }) => id));
  });
});
