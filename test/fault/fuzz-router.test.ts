import { assert } from 'chai';
import fc from 'fast-check';
import { describe, test } from 'vitest';
import { readQuickJsWasm } from '../../src/node/server/platform.ts';
import { Answer, assertDecent } from '../support/conformance/answer.ts';
import { CoreHost, type Storage } from '../support/conformance/core-host.ts';
import { fillIn, requests } from '../support/conformance/fuzz-requests.ts';
import type { Host, HostRequest } from '../support/conformance/host.ts';
import { at, numberAt, stringAt } from '../support/conformance/json.ts';
import { lmdbStorage } from '../support/conformance/lmdb-storage.ts';
import { memoryStorage } from '../support/conformance/memory-storage.ts';
import { NodeHost } from '../support/conformance/node-host.ts';
import { Toolkit } from '../support/conformance/toolkit.ts';
import { roundsOf } from '../support/long-runs.ts';
import { patient } from '../support/patience.ts';

/** No request may hang. */
const deadlineMs = patient.timeout;

/** Statuses above 500 that name what is the matter; a bare 500 would be a fault of the service. */
const namedServerErrors = [501];

async function ask(host: Host, request: HostRequest): Promise<Answer> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${deadlineMs} ms`)), deadlineMs);
  });
  try {
    return new Answer(await Promise.race([host.send(request), deadline]));
  } finally {
    clearTimeout(timer);
  }
}

function assertKnownStatus(request: HostRequest, answer: Answer): void {
  // The icon is the one answer that is no text.
  const isText = request.method !== 'HEAD' && answer.header('content-type')?.startsWith('image/') !== true;
  const told = `${answer.status} ${isText ? answer.text.slice(0, 300) : ''}`;
  assert.isTrue(answer.status < 500 || namedServerErrors.includes(answer.status), told);
  if (answer.status >= 400 && request.method !== 'HEAD') assert.notEqual(at(answer.json, 'error'), 'unknown_error');
}

/** All of a database that a write could have changed. */
async function stateOf(t: Toolkit): Promise<string> {
  const rows = await t.get('/_all_docs?include_docs=true&conflicts=true');
  const locals = await t.get('/_local_docs?include_docs=true');
  const info = await t.info();
  const security = await t.get('/_security');
  const limit = await t.get('/_revs_limit');
  const seqs = [numberAt(info, 'update_seq'), numberAt(info, 'purge_seq')];
  return JSON.stringify([seqs, rows.text, locals.text, security.text, limit.text]);
}

async function oneRound(host: Host, wild: HostRequest, prepare: (request: HostRequest) => HostRequest): Promise<void> {
  const t = await Toolkit.open(host, 'fuzzed');
  const rev = await t.put('doc', { n: 1 });
  await t.put('_local/mine', { n: 1 });
  const request = prepare(fillIn(wild, t.db, 'doc', rev));
  const before = await stateOf(t);
  const answer = await ask(host, request);
  assertKnownStatus(request, answer);
  assertDecent(request, answer);
  if (answer.status >= 400) assert.equal(await stateOf(t), before, 'a refused request should change nothing');
}

/** The same requests for everybody, but that no HTTP client sends white space or characters beyond a byte in a path. */
function forHttp(request: HostRequest): HostRequest {
  return { ...request, path: request.path.replace(/[^\x21-\xff]/gu, encodeCharacter) };
}

function encodeCharacter(character: string): string {
  return /\p{Surrogate}/u.test(character) ? '%ED%A0%80' : encodeURIComponent(character);
}

function startCore(newStorage: () => Promise<Storage>): Promise<CoreHost> {
  return CoreHost.start({ name: 'fuzzed core', newStorage, loadWasm: readQuickJsWasm });
}

interface Fuzzed {
  readonly name: string;
  readonly rounds: number;
  readonly start: () => Promise<Host>;
  readonly prepare: (request: HostRequest) => HostRequest;
}

const asTheyAre = (request: HostRequest): HostRequest => request;
const hosts: readonly Fuzzed[] = [
  { name: 'on memory', rounds: roundsOf(800, 2_000), start: () => startCore(memoryStorage), prepare: asTheyAre },
  { name: 'on LMDB', rounds: roundsOf(60, 150), start: () => startCore(lmdbStorage), prepare: asTheyAre },
  { name: 'through node:http', rounds: roundsOf(60, 150), start: () => NodeHost.start(), prepare: forHttp },
];

// The rounds are fixed: what is too slow for them fails by the time of the test, and never passes with fewer.
describe.each(hosts)('the router $name', ({ rounds, start, prepare }) => {
  test(`answers ${rounds} random requests with a valid status and body`, { timeout: 300_000 }, async () => {
    const host = await start();
    let done = 0;
    try {
      await fc.assert(
        fc.asyncProperty(requests, async (request) => {
          await oneRound(host, request, prepare);
          done++;
        }),
        { numRuns: rounds, endOnFailure: false },
      );
      assert.equal(done, rounds);
      const welcome = await ask(host, { method: 'GET', path: '/', headers: {}, body: null });
      assert.equal(stringAt(welcome.json, 'svc'), 'Welcome');
    } finally {
      await host.close();
    }
  });
});
