/** Pulls from the Node server, at another origin: beside PouchDB, and how much memory a large one takes. */

import PouchDB from 'pouchdb';
import { interleave } from '../figures.mjs';
import { milliseconds, send } from './measuring.mjs';
import { newPouchDB } from './with-pouchdb.mjs';

export async function replication(bench) {
  await bench.start();
  const count = bench.size(10_000, 2_000);
  const many = bench.size(100_000, 5_000);
  const source = await bench.ask('/remote', { name: 'pulled', count });
  const ms = await interleave(bench.size(5, 1), {
    pullDirect: (round) => pulledByUs(bench, source, `pulled_${round}`, count),
    pullIdb: () => pulledByPouchDB('idb', source, count),
    pullIndexeddb: () => pulledByPouchDB('indexeddb', source, count),
  });
  const largeSource = await bench.ask('/remote', { name: 'pulled-large', count: many });
  await bench.ask('/memory/begin');
  const pullManyMs = await pulledByUs(bench, largeSource, 'pulled_large', many);
  const { megabytes } = await bench.ask('/memory/end');
  await bench.settee.close();
  return { ...ms, pullCount: count, pullManyCount: many, pullManyMs, pullManyMegabytes: megabytes };
}

async function pulledByUs(bench, source, target, count) {
  const { fetch } = bench.settee;
  const body = JSON.stringify({ source, target, create_target: true });
  let result;
  const ms = await milliseconds(async () => {
    result = await send(fetch, 'POST', `${bench.base}_replicate`, body);
  });
  assertAll(result.history[0].docs_written, count);
  await send(fetch, 'DELETE', `${bench.base}${target}`);
  return ms;
}

/** With its own defaults, as ours. */
async function pulledByPouchDB(adapter, source, count) {
  let database;
  let result;
  const ms = await milliseconds(async () => {
    database = newPouchDB(adapter);
    result = await PouchDB.replicate(source, database);
  });
  assertAll(result.docs_written, count);
  await database.destroy();
  return ms;
}

function assertAll(written, count) {
  if (written !== count) throw new Error(`${written} documents were written instead of ${count}`);
}
