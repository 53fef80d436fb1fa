/**
 * The page that measures: what Settee and its peers all do, in turns. Posts medians by `row.peer`, in milliseconds. Every answer is checked
 * against what it has to be.
 */

import { documentsFrom, each, idOf, milliseconds } from '../browser/measuring.mjs';
import { visit } from '../browser/visit.mjs';
import { draw } from '../documents.mjs';
import { interleave } from '../figures.mjs';
import { PEERS } from './peers.mjs';

const parameters = new URLSearchParams(location.search);
const only = parameters.getAll('only');
const chosen = PEERS.filter(({ key }) => only.length === 0 || key === 'settee' || only.includes(key));
const size = (whole, quick) => (parameters.has('quick') ? quick : whole);

const INDEXED = 6_000;
let stores = 0;

try {
  const peers = await Promise.all(chosen.map(async ({ key }) => ({ key, ...(await import(`/peers/${key}.js`)) })));
  const values = {
    ...(await requests(peers)),
    ...(await durable(peers)),
    ...(await queries(peers)),
    ...(await visits()),
  };
  await post('/results', JSON.stringify({ values, userAgent: navigator.userAgent }));
} catch (error) {
  await post('/failure', `${error}\n${error.stack}`);
}

function post(path, body) {
  return fetch(path, { method: 'POST', body });
}

async function newStore(peer, options) {
  stores += 1;
  return peer.open(`bench-${peer.key}-${stores}`, options);
}

/** In the form of all peers: the id is a field of its own name. */
function documentsOf(from, count) {
  return documentsFrom(from, count).map(({ _id: id, ...fields }) => ({ id, ...fields }));
}

/** One store of each, which grows; the same documents in each. */
async function requests(peers) {
  await post('/progress', 'requests …');
  const measurements = {};
  const opened = [];
  for (const peer of peers) {
    const share = PEERS.find(({ key }) => key === peer.key).share ?? 1;
    const count = size(200, 60) * share;
    const many = size(600, 200) * share;
    const store = await newStore(peer);
    opened.push(store);
    let written = [];
    let documents = [];
    let made = 0;
    const next = (length) => {
      made += length;
      return documentsOf(made - length, length);
    };
    const kinds = {
      async put() {
        documents = next(count);
        written = [];
        return each(count, 1, async (index) => {
          written[index] = await store.put(documents[index]);
        });
      },
      update: () => each(count, 1, (index) => store.update({ ...documents[index], version: 1 }, written[index])),
      put50() {
        const fresh = next(many);
        return each(many, 50, (index) => store.put(fresh[index]));
      },
      bulk() {
        const fresh = next(1_000);
        return milliseconds(() => store.putMany(fresh));
      },
      get: (round) => each(many, 1, (index) => read(store, draw(index, made, round))),
      get50: (round) => each(many, 50, (index) => read(store, draw(index, made, round))),
    };
    for (const [kind, measure] of Object.entries(kinds)) measurements[`${kind}.${peer.key}`] = measure;
  }
  const values = await interleave(
    size(5, 1),
    inOrder(measurements, ['put', 'update', 'put50', 'bulk', 'get', 'get50']),
  );
  for (const store of opened) await store.remove();
  return values;
}

/** All peers of a kind, then those of the next, so that what is compared lies close together. */
function inOrder(measurements, kinds) {
  const of = (kind) => Object.entries(measurements).filter(([name]) => name.startsWith(`${kind}.`));
  return Object.fromEntries(kinds.flatMap(of));
}

async function read(store, index) {
  const { email } = await store.get(idOf(index));
  if (!email.includes(`.${index}@`)) throw new Error(`Document ${index} is that of ${email}`);
}

/** Commits that survive a power cut; not by PGlite on IndexedDB, which has none. */
async function durable(peers) {
  await post('/progress', 'durable writes …');
  const count = size(30, 20);
  const able = peers.filter(({ key }) => key !== 'pglite-idb');
  const opened = await Promise.all(able.map((peer) => newStore(peer, { strict: true })));
  const measurements = able.map(({ key }, place) => [
    `durable.${key}`,
    (round) => {
      const documents = documentsOf(round * count, count);
      return each(count, 1, (index) => opened[place].put(documents[index]));
    },
  ]);
  const values = await interleave(size(3, 1), Object.fromEntries(measurements));
  for (const store of opened) await store.remove();
  return values;
}

/** In each round a new store, whose index the first query has to build; then others that find it there. */
async function queries(peers) {
  await post('/progress', 'queries …');
  const documents = documentsOf(0, INDEXED);
  const measurements = {};
  for (const peer of peers) {
    let store;
    const found = {
      async firstQuery() {
        store = await newStore(peer);
        for (let from = 0; from < INDEXED; from += 1_000) await store.putMany(documents.slice(from, from + 1_000));
        return milliseconds(async () => {
          await store.index?.();
          await find(1930);
        });
      },
      query: () => each(10, 1, (step) => find(1935 + step)),
      firstSum: () =>
        milliseconds(async () => {
          await store.indexForSums?.();
          await sum(1930);
        }),
      async sum() {
        const ms = await each(20, 1, (step) => sum(1931 + step));
        await store.remove();
        return ms;
      },
    };
    const find = async (from) => {
      const result = await store.find(from, from + 10);
      const expected = within(documents, from, from + 10).length;
      if (result.length !== expected) throw new Error(`${peer.key} finds ${result.length} documents, not ${expected}`);
    };
    const sum = async (from) => {
      const result = await store.sum(from, from + 40);
      const expected = within(documents, from, from + 40).reduce((total, { balance }) => total + balance, 0);
      if (Math.abs(result / expected - 1) > 1e-9) throw new Error(`${peer.key} has ${result} instead of ${expected}`);
    };
    for (const [kind, measure] of Object.entries(found)) measurements[`${kind}.${peer.key}`] = measure;
  }
  return interleave(size(3, 1), inOrder(measurements, ['firstQuery', 'query', 'firstSum', 'sum']));
}

function within(documents, from, below) {
  return documents.filter(({ born }) => born >= from && born < below);
}

/** Frames of origins of their own: from the beginning of the navigation to the first document that is stored. */
async function visits() {
  await post('/progress', 'visits …');
  const seconds = Object.fromEntries(chosen.map(({ key }) => [key, []]));
  const measurements = chosen.map(({ key }) => [
    `newOrigin.${key}`,
    async () => {
      const origin = await (await fetch('/new-origin', { method: 'POST' })).text();
      const page = `${origin}/peers/visit.html?${key}`;
      const first = await visit(page);
      seconds[key].push(await visit(page));
      return first;
    },
  ]);
  const values = await interleave(size(5, 1), Object.fromEntries(measurements));
  for (const [key, all] of Object.entries(seconds)) {
    // The first round warms up, as it does in interleave.
    const sorted = all.slice(1).toSorted((one, other) => one - other);
    values[`secondVisit.${key}`] = sorted[Math.floor(sorted.length / 2)];
  }
  return values;
}
