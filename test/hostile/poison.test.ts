import { afterEach, assert, beforeEach, describe, expect, test } from 'vitest';
import { arrayAt, at, stringAt } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import type { HttpClient, WholeAnswer } from './support/http-client.ts';

/**
 * What one write can leave behind must not stop the writes after it. Each case writes something that is too large for one page of
 * the store, and then: another write, a restart, `settee verify`, and another write.
 */
const MB = 1_000_000;

let server: AttackedServer;
let client: HttpClient;

beforeEach(async () => {
  server = await AttackedServer.start();
  client = server.client;
  await client.must(201, 'PUT', '/db');
  await client.must(201, 'PUT', '/db/first', { json: { n: 1 } });
});

afterEach(() => server.remove());

/** Another write, a restart with its checkpoint, `verify`, a write again; and what was written before is there. */
async function expectUnharmed(): Promise<void> {
  await client.must(201, 'PUT', '/db/second', { json: { n: 2 } });
  await server.stop();
  const { code, stderr } = await server.verify();
  expect({ code, stderr: stderr.slice(0, 1_000) }).toEqual({ code: 0, stderr: '' });
  await server.startAgain();
  client = server.client;
  await client.must(201, 'PUT', '/db/third', { json: { n: 3 } });
  for (const [id, n] of Object.entries({ first: 1, second: 2, third: 3 })) {
    expect(at((await client.must(200, 'GET', `/db/${id}`)).json, 'n'), id).toBe(n);
  }
}

/** Refused with 400 before anything came of it. */
async function expectRefused(answer: WholeAnswer): Promise<void> {
  expect({ status: answer.status, error: at(answer.json, 'error') }, answer.summary).toEqual({
    status: 400,
    error: 'bad_request',
  });
  expect(at((await client.must(200, 'GET', '/db')).json, 'doc_count')).toBe(1);
}

const id = 'i'.repeat(2 * MB);

describe('a large local document', () => {
  test.for([1.5, 15])('of %f MB is kept whole', async (size) => {
    const text = 'x'.repeat(size * MB);
    await client.must(201, 'PUT', '/db/_local/x', { json: { text } });
    await expectUnharmed();
    const read = await client.must(200, 'GET', '/db/_local/x');
    assert.isTrue(at(read.json, 'text') === text, 'the text is what was written');
    await client.must(201, 'PUT', '/db/_local/x', { json: { _rev: '0-1', text: `${text}y` } });
  });

  test('of 20 MB is refused, and the previous one stays', async () => {
    await client.must(201, 'PUT', '/db/_local/x', { json: { text: 'first' } });
    const answer = await client.ask('PUT', '/db/_local/x', { json: { _rev: '0-1', text: 'x'.repeat(20 * MB) } });
    expect({ status: answer.status, error: at(answer.json, 'error') }, answer.summary).toEqual({
      status: 413,
      error: 'too_large',
    });
    await expectUnharmed();
    expect(at((await client.must(200, 'GET', '/db/_local/x')).json, 'text')).toBe('first');
  });

  test('of 1.5 MB in a bulk write or from a replicator is kept', async () => {
    const text = 'x'.repeat(1.5 * MB);
    await client.must(201, 'POST', '/db/_bulk_docs', { json: { docs: [{ _id: '_local/one', text }] } });
    await client.must(201, 'POST', '/db/_bulk_docs', {
      json: { new_edits: false, docs: [{ _id: '_local/two', _rev: '0-1', text }] },
    });
    await expectUnharmed();
    for (const name of ['one', 'two']) {
      assert.isTrue(at((await client.must(200, 'GET', `/db/_local/${name}`)).json, 'text') === text, name);
    }
  });
});

describe('a security object', () => {
  test('of 1,000,000 bytes is kept', async () => {
    const json = { note: 'x'.repeat(1_000_000 - '{"note":""}'.length) };
    await client.must(200, 'PUT', '/db/_security', { json });
    await expectUnharmed();
    assert.isTrue((await client.must(200, 'GET', '/db/_security')).text === `${JSON.stringify(json)}\n`);
  });

  test('of 3 MB is refused, and the previous one stays', async () => {
    const before = { members: { names: ['ann'], roles: [] } };
    await client.must(200, 'PUT', '/db/_security', { json: before });
    await client.must([400, 413], 'PUT', '/db/_security', { json: { note: 'x'.repeat(3 * MB) } });
    expect((await client.must(200, 'GET', '/db/_security')).json).toEqual(before);
    await expectUnharmed();
  });
});

describe('an id of 2 MB is refused', () => {
  test('in a POST', async () => {
    await expectRefused(await client.ask('POST', '/db', { json: { _id: id } }));
    await expectUnharmed();
  });

  test('in bulk writes of documents and local documents, also from a replicator', async () => {
    const _rev = `1-${'a'.repeat(32)}`;
    for (const _id of [id, `_local/${id}`, `_design/${id}`]) {
      const docs = [{ _id: 'harmless', _rev }, _id.startsWith('_local/') ? { _id } : { _id, _rev }];
      await expectRefused(await client.ask('POST', '/db/_bulk_docs', { json: { docs: [{ _id }] } }));
      await expectRefused(await client.ask('POST', '/db/_bulk_docs', { json: { new_edits: false, docs } }));
    }
    await expectUnharmed();
  });

  test('in an update function', async () => {
    const large = 'function (doc, req) { return [{ _id: new Array(2000001).join("i") }, "made"]; }';
    await client.must(201, 'PUT', '/db/_design/d', { json: { updates: { large } } });
    const answer = await client.ask('POST', '/db/_design/d/_update/large', { body: '' });
    expect({ status: answer.status, error: at(answer.json, 'error') }).toEqual({ status: 400, error: 'bad_request' });
    expect(at((await client.must(200, 'GET', '/db')).json, 'doc_count')).toBe(2);
    await expectUnharmed();
  });

  test('and so is one of 1.1 MB, without an internal error in the log', async () => {
    await expectRefused(await client.ask('POST', '/db', { json: { _id: 'i'.repeat(1.1 * MB) } }));
    expect(server.log).not.toMatch(/Invariant|\[error\]/);
    await expectUnharmed();
  });

  test('and one of 8,192 bytes is accepted', async () => {
    for (const _id of ['i'.repeat(8_192), 'é'.repeat(4_096), `_local/${'i'.repeat(8_185)}`]) {
      const answer = await client.must(201, 'POST', '/db/_bulk_docs', { json: { docs: [{ _id }] } });
      expect(at(answer.json, 0, 'ok'), `${_id.length} characters`).toBe(true);
    }
    await expectUnharmed();
    for (const _id of ['i'.repeat(8_193), 'é'.repeat(4_097), `_local/${'i'.repeat(8_186)}`]) {
      await client.must(400, 'POST', '/db/_bulk_docs', { json: { docs: [{ _id }] } });
    }
    await client.must(400, 'PUT', `/db/${'i'.repeat(8_193)}`, { json: {} });
    await client.must(400, 'COPY', '/db/first', { headers: { destination: 'i'.repeat(8_193) } });
  });
});

describe('revisions', () => {
  test('with a hash of 2 MB are refused', async () => {
    const _rev = `1-${'a'.repeat(2 * MB)}`;
    await expectRefused(await client.ask('PUT', '/db/doc?new_edits=false', { json: { _rev } }));
    const docs = [{ _id: 'doc', _rev }];
    // In bulk its row alone is refused, and repeats little of it.
    const { status, json, text } = await client.ask('POST', '/db/_bulk_docs', { json: { new_edits: false, docs } });
    expect({ status, id: at(json, 0, 'id'), error: at(json, 0, 'error') }).toEqual({
      status: 201,
      id: 'doc',
      error: 'bad_request',
    });
    assert.isBelow(text.length, 1_000);
    await client.must(404, 'GET', '/db/doc');
    await expectUnharmed();
  });

  test('with a hash of 2 MB among their ancestors are refused', async () => {
    const ids = ['b'.repeat(32), 'a'.repeat(2 * MB)];
    const json = { _rev: `2-${ids[0]}`, _revisions: { start: 2, ids } };
    await expectRefused(await client.ask('PUT', '/db/doc?new_edits=false', { json }));
    await expectUnharmed();
  });

  test('with a hash of 128 characters are accepted, and of 129 refused', async () => {
    const taken = `1-${'a'.repeat(128)}`;
    await expectRefused(await client.ask('PUT', '/db/doc?new_edits=false', { json: { _rev: `1-${'a'.repeat(129)}` } }));
    await client.must(201, 'PUT', '/db/doc?new_edits=false', { json: { _rev: taken } });
    await expectUnharmed();
    expect(stringAt((await client.must(200, 'GET', '/db/doc')).json, '_rev')).toBe(taken);
  });

  test('100,000 generations deep are cut at the limit of revisions', async () => {
    const ids = Array.from({ length: 100_000 }, (_, index) => `${index}`.padStart(32, '0'));
    const json = { _rev: `100000-${ids[0]}`, _revisions: { start: 100_000, ids } };
    await client.must(201, 'PUT', '/db/doc?new_edits=false', { json });
    await expectUnharmed();
    const read = await client.must(200, 'GET', '/db/doc?revs=true');
    expect(at(read.json, '_revisions', 'start')).toBe(100_000);
    expect(arrayAt(read.json, '_revisions', 'ids')).toEqual(ids.slice(0, 1_000));
  });

  test("on 60 branches, each 1,000 deep, make no entry that can't be stored", async () => {
    const docs = Array.from({ length: 60 }, (_, branch) => {
      const ids = Array.from({ length: 1_000 }, (_, index) =>
        `${branch}-${index}`.padStart(128, 'f').replace('-', 'e'),
      );
      return { _id: 'doc', _rev: `1000-${ids[0]}`, _revisions: { start: 1_000, ids }, branch };
    });
    const answer = await client.must(201, 'POST', '/db/_bulk_docs', { json: { new_edits: false, docs } });
    expect(answer.json).toEqual([]);
    await expectUnharmed();
    const leaves = await client.must(200, 'GET', '/db/doc?open_revs=all');
    expect(arrayAt(leaves.json)).toHaveLength(60);
  });

  test('under a limit of a million are kept, or the limit is refused', async () => {
    const limit = await client.must([200, 400], 'PUT', '/db/_revs_limit', { body: '1000000' });
    const ids = Array.from({ length: 100_000 }, (_, index) => `${index}`.padStart(32, '0'));
    const json = { _rev: `100000-${ids[0]}`, _revisions: { start: 100_000, ids } };
    await client.must(201, 'PUT', '/db/doc?new_edits=false', { json });
    await expectUnharmed();
    const read = await client.must(200, 'GET', '/db/doc?revs=true');
    expect(arrayAt(read.json, '_revisions', 'ids')).toHaveLength(limit.status === 200 ? 100_000 : 1_000);
  });
});

describe('an index', () => {
  const map = 'function (doc) { emit(doc.text ? doc.text : doc.n, doc.text ? [doc.text] : null); }';

  test('over keys and values of 1.5 MB is built and updated', async () => {
    await client.must(201, 'PUT', '/db/large', { json: { text: 'x'.repeat(1.5 * MB) } });
    await client.must(201, 'PUT', '/db/_design/d', { json: { views: { v: { map } } } });
    await client.must(200, 'GET', '/db/_design/d/_view/v?limit=1');
    await expectUnharmed();
    const rows = await client.must(200, 'GET', '/db/_design/d/_view/v?startkey=1&endkey=3');
    expect(arrayAt(rows.json, 'rows').map((row) => at(row, 'key'))).toEqual([1, 2, 3]);
    await client.must(201, 'PUT', '/db/fourth', { json: { n: 4 } });
    const more = await client.must(200, 'GET', '/db/_design/d/_view/v?startkey=4&endkey=4');
    expect(arrayAt(more.json, 'rows')).toHaveLength(1);
  });

  test('of a query over a field of 1.5 MB is built and updated', async () => {
    await client.must(201, 'PUT', '/db/large', { json: { n: 0, text: 'x'.repeat(1.5 * MB) } });
    const index = { fields: ['text', 'n'] };
    await client.must(200, 'POST', '/db/_index', { json: { index, name: 'by-text', ddoc: 'by-text' } });
    const selector = { text: { $gt: null } };
    const found = await client.must(200, 'POST', '/db/_find', { json: { selector, fields: ['_id'] } });
    expect(found.json).toMatchObject({ docs: [{ _id: 'large' }] });
    await expectUnharmed();
    await client.must(201, 'PUT', '/db/fourth', { json: { n: 4, text: 'short' } });
    const more = await client.must(200, 'POST', '/db/_find', { json: { selector, fields: ['_id'] } });
    expect(more.json).toMatchObject({ docs: [{ _id: 'fourth' }, { _id: 'large' }] });
  });
});
