import { afterEach, assert, beforeEach, describe, expect, test } from 'vitest';
import { at } from '../support/conformance/json.ts';
import { AttackedServer } from './support/attacked-server.ts';
import { attack } from './support/figures.ts';
import { Neighbour } from './support/neighbour.ts';
import { megabytes, noProcessFiles } from './support/process-use.ts';

/** A text of a few megabytes can become values, documents and errors of hundreds of times its size. */
const timeout = 280_000;
/** `httpd/max_bytes_in_flight`, and a hundred megabytes. */
const MAX_MEMORY = 356 * 2 ** 20;
/** Of processor time, which hardly depends on what else the machine does. */
const MAX_TURN_MS = 100;

const list = (item: string, count: number) => Array.from({ length: count }, () => item).join(',');
const names = (count: number, value: string) => Array.from({ length: count }, (_, n) => `"${n}":${value}`).join(',');

const deep = `${'['.repeat(900)}${']'.repeat(900)}`;

/** What is sent where, what is answered, and how many at once. */
const requests: readonly (readonly [string, string, string, number, number])[] = [
  ['too many empty documents', 'POST /db/_bulk_docs', `{"docs":[${list('{}', 350_000)}]}`, 413, 12],
  ['many empty documents', 'POST /db/_bulk_docs', `{"docs":[${list('{}', 100_000)}]}`, 201, 1],
  ['documents of no revision', 'POST /db/_bulk_docs', `{"docs":[${list('{"_rev":1}', 100_000)}]}`, 201, 1],
  ['documents and one that is none', 'POST /db/_bulk_docs', `{"docs":[${list('{}', 100_000)},1]}`, 400, 1],
  ['entries without an id', 'POST /db/_bulk_get', `{"docs":[${list('{}', 500_000)}]}`, 200, 1],
  ['keys that are no ids', 'POST /db/_all_docs', `{"keys":[${list('[]', 1_000_000)}]}`, 200, 1],
  ['deep keys', 'POST /db/_design/d/_view/v', `{"keys":[${list(deep, 2_000)}]}`, 200, 1],
  ['more of them', 'POST /db/_design/d/_view/v', `{"keys":[${list(deep, 10_000)}]}`, 413, 1],
  ['parameters', 'POST /db/_design/d/_view/v', `{${names(500_000, '1')}}`, 413, 1],
  ['lists', 'POST /db/_all_docs/queries', `{"queries":[${list('{"limit":0}', 200_000)}]}`, 200, 1],
  ['ids of a feed', 'POST /db/_changes?filter=_doc_ids', `{"doc_ids":[${list('[]', 1_000_000)}]}`, 200, 1],
  ['names', 'POST /db/_purge', `{${names(400_000, '[]')}}`, 200, 1],
  ['names', 'POST /db/_revs_diff', `{${names(400_000, '[]')}}`, 200, 1],
  ['a name twice', 'PUT /db/twice', `{"a":[${list('[]', 3_000_000)}],"a":1}`, 201, 1],
  ['a name twice of many', 'PUT /db/names', `{${names(1_000_000, '1')},"1":2}`, 201, 1],
  ['attachments', 'PUT /db/attachments', `{"_attachments":{${names(2_000_000, '{}')}}}`, 413, 1],
];

let server: AttackedServer;
let neighbour: Neighbour;

beforeEach(async () => {
  server = await AttackedServer.start();
  await server.client.must(201, 'PUT', '/db');
  const views = { v: { map: 'function (doc) { emit(doc._id); }' } };
  await server.client.must(201, 'PUT', '/db/_design/d', { json: { views } });
  await server.client.must(200, 'GET', '/db/_design/d/_view/v');
  neighbour = await Neighbour.moveIn(server);
});

afterEach(async () => {
  await neighbour.moveOut();
  await server.remove();
});

describe.skipIf(noProcessFiles !== undefined)(
  "costly JSON takes no more memory than all requests share, and doesn't block other requests",
  () => {
    test.each(requests)('%s: %s', { timeout }, async (what, request, body, status, count) => {
      const [method = '', path = ''] = request.split(' ');
      const headers = { 'content-type': 'application/json' };
      const ask = () => server.client.ask(method, path, { body, headers });
      const { result, gained, latencies } = await attack(server, neighbour, `${what}: ${request}`, {
        work: () => Promise.all(Array.from({ length: count }, ask)),
        outcome: (answers) => answers.map((answer) => answer.status).join(' '),
      });
      for (const answer of result) expect([status, count > 1 ? 503 : status], answer.summary).toContain(answer.status);
      if (status === 413)
        for (const { json } of result) expect(at(json, 'error')).toMatch(/^(too_large|service_unavailable)$/);
      assert.isAtMost(gained, MAX_MEMORY, megabytes(gained));
      assert.isAtMost(latencies.longestTurn ?? 0, MAX_TURN_MS);
    });
  },
);
