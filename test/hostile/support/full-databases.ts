/**
 * Whoever asks for much, or brings much, holds up nobody else: a neighbour is answered within 100 ms meanwhile. Each case takes the
 * server a second or more.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, assert, beforeAll, beforeEach, expect } from 'vitest';
import { AttackedServer } from './attacked-server.ts';
import type { DrainedAnswer, HttpClient, Question } from './http-client.ts';
import { assertUndisturbed, Neighbour } from './neighbour.ts';
import { observed, type Permitted } from './observation.ts';

const limits = { longest: 100, turn: 65 };
export const timeout = 120_000;
export const DOCUMENTS = 50_000;
export const CONFLICTS = 2_000;

let folder: string;
let server: AttackedServer;
let neighbour: Neighbour;
let count = 0;

/** Gives a file large databases in a folder, and each of its tests a server on it that a neighbour uses. */
export function useFullDatabases(): void {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'settee-hostile-'));
    server = await AttackedServer.start({ folder });
    await fill(server.client);
    await (await Neighbour.moveIn(server)).moveOut();
    await server.stop();
  }, 240_000);

  afterAll(() => rm(folder, { recursive: true, force: true }));

  // A server for each case: what one leaves under way must not be measured in the next.
  beforeEach(async () => {
    server = await AttackedServer.start({ folder });
    await server.client.must(200, 'GET', '/many/_design/d/_view/by_n?limit=1');
    await server.client.must(200, 'GET', '/conflicts/contested');
    neighbour = await Neighbour.returnTo(server);
  });

  afterEach(async () => {
    await neighbour.moveOut();
    await server.remove();
  });
}

async function fill(client: HttpClient): Promise<void> {
  await client.must(201, 'PUT', '/many');
  for (let from = 0; from < DOCUMENTS; from += 10_000) {
    const docs = Array.from({ length: 10_000 }, (_, index) => documentOf(from + index));
    await client.must(201, 'POST', '/many/_bulk_docs', { json: { docs } });
  }
  const views = {
    by_n: { map: 'function (doc) { emit(doc.n, doc.group); }', reduce: '_sum' },
    counted: { map: 'function (doc) { emit(doc.n, 1); }', reduce: 'function (keys, values) { return sum(values); }' },
  };
  const lists = { all: 'function () { var row; while ((row = getRow())) send(row.id + "\\n"); }' };
  await client.must(201, 'PUT', '/many/_design/d', { json: { views, lists } });
  await client.must(200, 'GET', '/many/_design/d/_view/by_n?limit=1');
  const index = { index: { fields: ['n'] }, name: 'by-n', ddoc: 'by-n' };
  await client.must(200, 'POST', '/many/_index', { json: index });
  await client.must(200, 'POST', '/many/_find', { json: { selector: { n: 1 } } });
  await client.must(201, 'PUT', '/conflicts');
  await client.must(201, 'POST', '/conflicts/_bulk_docs', { json: { new_edits: false, docs: conflicting(0) } });
  await client.must(201, 'PUT', '/brought');
}

function documentOf(n: number) {
  return { _id: idOf(n), n, group: n % 10, text: 'a text as long as those of many documents are '.repeat(5) };
}

export function idOf(n: number): string {
  return `doc-${String(n).padStart(7, '0')}`;
}

/** Revisions of one document, each with no ancestors. */
export function conflicting(from: number) {
  return Array.from({ length: CONFLICTS }, (_, index) => ({
    _id: 'contested',
    _rev: `1-${String(from + index).padStart(32, '0')}`,
    n: from + index,
  }));
}

export const numbers = Array.from({ length: 200_000 }, (_, n) => n);

/** A request, and what the tail of its answer must look like. `%` makes a database of its own. */
export type Attack = readonly [
  what: string,
  status: number,
  tail: RegExp,
  method: string,
  path: string,
  question?: () => Question,
  /** Requests that go before it, and are not measured. */
  before?: readonly string[],
  permitted?: Permitted,
];

export async function attack(
  [, status, tail, method, path, question = () => ({}), before = [], permitted]: Attack,
  readers = 1,
): Promise<void> {
  if (permitted !== undefined) observed().permit(permitted);
  const { result } = await assertUndisturbed(neighbour, limits, {
    // Made before, so that the answers are what is measured.
    prepare: async () => {
      const { json, body = json === undefined ? undefined : Buffer.from(JSON.stringify(json)), headers } = question();
      if (path.includes('%')) count += 1;
      const ownPath = path.replace('%', `${count}`);
      if (ownPath !== path) await server.client.must(201, 'PUT', ownPath.slice(0, ownPath.indexOf('/', 1)));
      const sent: Question = {
        ...(body === undefined ? {} : { body }),
        headers: { 'content-type': 'application/json', ...headers },
      };
      for (const other of before) await server.client.must(201, method, other.replace('%', `${count}`), sent);
      return { ownPath, sent };
    },
    disturb: ({ ownPath, sent }) =>
      Promise.all(Array.from({ length: readers }, () => server.client.drain(method, ownPath, sent))),
  });
  for (const answer of result) assertAnswer(answer, status, tail);
}

function assertAnswer(answer: DrainedAnswer, status: number, tail: RegExp): void {
  expect(answer.status, answer.tail).toBe(status);
  assert.match(answer.tail, tail);
}
