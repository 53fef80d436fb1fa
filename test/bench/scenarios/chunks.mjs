/**
 * An app that writes in small chunks: documents `h:<hash>` of 1 to 20 kB that many devices write and read in batches, as apps that keep files or texts in
 * pieces do. An hour of edits is simulated by their number. COUCHDB_URL (with credentials) names a CouchDB to be measured beside it.
 */
import { draw } from '../documents.mjs';
import { figure, median } from '../figures.mjs';
import { Client } from '../http-client.mjs';

export const name = 'chunks';
export const about = '200,000 documents of 1 to 20 kB, 20 devices, an hour of edits; minutes, and only where named';
/** Not part of a run of all scenarios. */
export const isExtra = true;

const DEVICES = 20;
const BATCH = 200;
/** Documents that one request names. */
const NAMED = 100;
const DATABASE = 'chunks';
/** Of the live data that the file may take after the edits, once the server has rested. */
const MOST = 1.3;
/** How long the size must not have changed: longer than the server waits before it compacts. */
const REST_MS = 35_000;

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789+/';

/** Text that does not compress well, as encrypted chunks; the chunks are parts of it, since making new text would take longer than storing it. */
const POOL = poolText(262_144);

function poolText(length) {
  const digits = new Array(length);
  for (let index = 0; index < length; index++) digits[index] = ALPHABET[draw(index, ALPHABET.length, 7)];
  return digits.join('');
}

function idOf(index) {
  return `h:${draw(index, 2 ** 31, 1).toString(36)}${draw(index, 2 ** 31, 2).toString(36)}${index.toString(36)}`;
}

function chunkText(index, version, rev) {
  const length = 1_000 + draw(index, 19_000, 3);
  const from = draw(index, POOL.length - length, 9 + version);
  return JSON.stringify({ _id: idOf(index), _rev: rev, type: 'leaf', data: POOL.slice(from, from + length) });
}

export async function run(bench) {
  const sizes = { documents: bench.size(200_000, 4_000), edits: bench.size(100_000, 4_000), reads: bench.size(40, 10) };
  const settee = await bench.startSettee();
  const ours = await measure(() => Client.open(settee.port), sizes);
  const memory = settee.memory().anonymous;
  await settee.stop();
  const peer =
    process.env.COUCHDB_URL === undefined ? undefined : await measureElsewhere(process.env.COUCHDB_URL, sizes);
  const line = (label, key, unit, more = {}) =>
    figure({
      ...{ name: label, ours: ours[key], unit },
      ...(peer === undefined ? {} : { floor: peer[key], floorName: 'CouchDB' }),
      ...more,
    });
  return [
    line(`${sizes.documents} chunks in batches of ${BATCH}, ${DEVICES} devices`, 'load', 'docs/s'),
    line(`${sizes.edits} edits of them`, 'edit', 'docs/s'),
    line(`_bulk_get of ${NAMED}`, 'bulkGet', 'ms'),
    line(`_all_docs with ${NAMED} keys and their documents`, 'keys', 'ms'),
    line(`_changes with ${NAMED} _doc_ids`, 'few', 'ms'),
    line(`_changes with ${10 * NAMED} _doc_ids`, 'many', 'ms'),
    figure({
      name: 'file after the edits, of the live data',
      ours: ours.file / ours.live,
      unit: '×',
      asked: { atMost: MOST },
      note: `${megabytes(ours.file)} of ${megabytes(ours.live)}; ${megabytes(ours.busy)} right after the last edit`,
    }),
    ...(peer === undefined
      ? []
      : [
          figure({ name: '– the same of CouchDB', ours: peer.file / peer.live, unit: '×', note: megabytes(peer.file) }),
        ]),
    figure({ name: '– memory at the end', ours: memory, unit: 'MB' }),
  ];
}

function megabytes(bytes) {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

/** `open` connects a device. */
async function measure(open, { documents, edits, reads }) {
  const client = await open();
  const devices = await Promise.all(Array.from({ length: DEVICES }, open));
  const ask = (method, path, body, expected) => client.ask(method, `/${DATABASE}${path}`, body, expected);
  await ask('PUT', '', undefined, 201);
  const revs = new Array(documents);
  const load = await byDevices(devices, documents, (index) => [index, 0, undefined], revs);
  // Some documents change often, most never.
  const edited = (step) => [draw(step, Math.max(1, draw(step, documents, 5)), 6), step + 1, revs];
  const edit = await byDevices(devices, edits, edited, revs);
  const busy = sizesOf(await ask('GET', ''));
  const timed = async (request) => {
    const times = [];
    for (let step = 0; step < reads; step++) {
      const began = performance.now();
      await request(step);
      times.push(performance.now() - began);
    }
    return median(times);
  };
  const ids = (step, count) => Array.from({ length: count }, (_, n) => idOf(draw(step * count + n, documents, 8)));
  const bulkGet = await timed((step) => {
    const docs = ids(step, NAMED).map((id) => ({ id }));
    return ask('POST', '/_bulk_get', JSON.stringify({ docs }));
  });
  const keys = await timed((step) => {
    return ask('POST', '/_all_docs?include_docs=true', JSON.stringify({ keys: ids(step, NAMED) }));
  });
  const named = (count) => (step) =>
    ask('POST', '/_changes?filter=_doc_ids', JSON.stringify({ doc_ids: ids(step, count) }));
  const few = await timed(named(NAMED));
  const many = await timed(named(10 * NAMED));
  const { file, live } = await rested(() => ask('GET', ''));
  for (const one of [client, ...devices]) one.close();
  return { load, edit, bulkGet, keys, few, many, file, live, busy: busy.file };
}

/** All devices write at a time. `chosen` gives the document, its version and where its revision is. Gives documents per second. */
async function byDevices(devices, count, chosen, revs) {
  const began = performance.now();
  let next = 0;
  const write = async (client) => {
    while (next < count) {
      const from = next;
      next = Math.min(count, next + BATCH);
      const picked = new Map();
      for (let step = from; step < next; step++) {
        const [index, version, known] = chosen(step);
        picked.set(index, chunkText(index, version, known?.[index]));
      }
      const rows = await client.ask(
        'POST',
        `/${DATABASE}/_bulk_docs`,
        `{"docs":[${[...picked.values()].join()}]}`,
        201,
      );
      for (const [at, index] of [...picked.keys()].entries()) revs[index] = rows[at].rev ?? revs[index];
    }
  };
  await Promise.all(devices.map(write));
  return count / ((performance.now() - began) / 1_000);
}

function sizesOf({ sizes }) {
  return { file: sizes.file, live: sizes.active };
}

/** The sizes when the file has stopped to change. */
async function rested(info) {
  let last = sizesOf(await info());
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, REST_MS));
    const now = sizesOf(await info());
    if (now.file === last.file) return now;
    last = now;
  }
}

async function measureElsewhere(url, sizes) {
  const { username, password, origin } = new URL(url);
  const authorization = `Basic ${Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64')}`;
  const client = {
    async ask(method, path, body, expected = 200) {
      const headers = { authorization, 'content-type': 'application/json' };
      const answer = await fetch(origin + path, { method, body, headers });
      const text = await answer.text();
      if (answer.status !== expected && answer.status !== 202)
        throw new Error(`${method} ${path}: ${answer.status} ${text}`);
      return JSON.parse(text);
    },
    close: () => undefined,
  };
  await fetch(`${origin}/${DATABASE}`, { method: 'DELETE', headers: { authorization } });
  return measure(() => client, sizes);
}
