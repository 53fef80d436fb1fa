import { afterAll, afterEach, assert, beforeAll, beforeEach, describe, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { attack } from './support/figures.ts';
import { Neighbour } from './support/neighbour.ts';
import { noProcessFiles } from './support/process-use.ts';

/** Functions that see documents of 20 MB: few of these are in sandboxes at a time, and what a sandbox took comes back. */
const timeout = 300_000;
const LONG = 20_000_000;
const DOCUMENTS = 30;

let server: AttackedServer;
let neighbour: Neighbour;

beforeAll(async () => {
  server = await AttackedServer.start();
  await (await Neighbour.moveIn(server)).moveOut();
  await server.client.must(201, 'PUT', '/db');
  const text = 'a'.repeat(LONG);
  for (let n = 0; n < DOCUMENTS; n++) await server.client.must(201, 'PUT', `/db/doc-${n}`, { body: `{"s":"${text}"}` });
  const lists = {
    l: 'function () { var row; while ((row = getRow())) send(row.doc.s.length + "\\n"); }',
    // Can't wait for its rows.
    all: 'function () { var next = getRow, row; while ((row = next())) send(row.doc.s.length + "\\n"); }',
  };
  const shows = { s: 'function (doc) { return "" + doc.s.length; }' };
  await server.client.must(201, 'PUT', '/db/_design/d', { json: { lists, shows } });
}, timeout);

/** Each test on a process that has done nothing else. */
beforeEach(async () => {
  await server.stop();
  await server.startAgain();
  neighbour = await Neighbour.returnTo(server);
});

afterEach(() => neighbour.moveOut());

afterAll(() => server.remove());

const maps = {
  whole: 'function (doc) { emit(Object.keys(doc).length, null); }',
  part: 'function (doc) { emit(doc.s.length, null); }',
};

async function ask(name: string, count: number, paths: (n: number) => string): Promise<readonly string[]> {
  const work = () => Promise.all(Array.from({ length: count }, (_, n) => server.client.drain('GET', paths(n))));
  const { result } = await attack(server, neighbour, name, {
    work,
    outcome: (answers) => answers.map(({ status, tail }) => `${status} ${status < 300 ? '' : tail}`).join(' '),
  });
  return result.map(({ status, tail }) => `${status} ${tail}`);
}

/** Who waited for too long may be told so. */
function assertAnswers(answers: readonly string[], whole: RegExp, others = /^503 /): void {
  assert.isAtLeast(answers.filter((answer) => whole.test(answer)).length, 1, 'answers as they should be');
  for (const answer of answers) if (!whole.test(answer)) assert.match(answer, others);
}

describe.skipIf(noProcessFiles !== undefined)('thirty documents of 20 MB', () => {
  for (const [view, map] of Object.entries(maps)) {
    test(`in a view that reads them take bounded memory: ${view}`, { timeout }, async () => {
      await server.client.must(201, 'PUT', `/db/_design/${view}`, { json: { views: { v: { map } } } });
      const answers = await ask(`a view of them: ${view}`, 1, () => `/db/_design/${view}/_view/v?limit=30`);
      assert.match(answers[0] ?? '', /^200 .*doc-9/s);
    });
  }

  test('in a list take bounded memory', { timeout }, async () => {
    const answers = await ask(
      'a list of 20',
      1,
      () => '/db/_design/d/_list/l/_all_docs?include_docs=true&startkey=%22doc%22&limit=20',
    );
    assertAnswers(answers, /^200 (20000000\n){20}$/);
  });

  test('in three lists at once take bounded memory', { timeout }, async () => {
    const answers = await ask(
      'three lists of 5',
      3,
      () => '/db/_design/d/_list/l/_all_docs?include_docs=true&startkey=%22doc%22&limit=5&',
    );
    assertAnswers(answers, /^200 (20000000\n){5}$/);
  });

  test("in a list that can't wait take bounded memory", { timeout }, async () => {
    const answers = await ask(
      'a list at once',
      1,
      () => '/db/_design/d/_list/all/_all_docs?include_docs=true&startkey=%22doc%22&limit=3',
    );
    assertAnswers(answers, /^200 (20000000\n){3}$/, /^(413|500) /);
  });

  test('in thirty shows at once take bounded memory', { timeout }, async () => {
    const answers = await ask('30 shows', 30, () => '/db/_design/d/_show/s/doc-1');
    assertAnswers(answers, /^200 20000000$/);
  });

  test('written through a validation function take bounded memory', { timeout }, async () => {
    const validator = 'function (doc, old) { if (old && old.s.length > doc.s.length) throw { forbidden: "shorter" }; }';
    await server.client.must(201, 'PUT', '/valid');
    await server.client.must(201, 'PUT', '/valid/_design/v', { json: { validate_doc_update: validator } });
    const put = async (id: string, rev: string, length: number) => {
      const { status, json } = await server.client.ask('PUT', `/valid/${id}${rev}`, {
        body: `{"s":"${'a'.repeat(length)}"}`,
      });
      return { status, json };
    };
    const { result } = await attack(server, neighbour, '20 MB validated', {
      work: async () => {
        const first = await put('doc', '', LONG);
        const second = await put('doc', `?rev=${at(first.json, 'rev')}`, LONG);
        return [first, second, ...(await Promise.all(Array.from({ length: 4 }, (_, n) => put(`doc-${n}`, '', LONG))))];
      },
      outcome: (answers) =>
        answers.map(({ status, json }) => `${status} ${status < 300 ? '' : JSON.stringify(json)}`).join(' '),
    });
    assert.deepEqual(
      result.map(({ status }) => status),
      result.map(() => 201),
    );
  });
});
