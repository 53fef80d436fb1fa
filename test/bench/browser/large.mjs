/**
 * A large database: how long it takes to the first answer in a fresh page, with as much journal as there can be, and the
 * longest PUT while checkpoints run. Each round of the opening is a page of its own.
 */
import { draw } from '../documents.mjs';
import { median, quantile } from '../figures.mjs';
import { documentAt, documentsFrom, idOf, milliseconds, send } from './measuring.mjs';
import { newPouchDB } from './with-pouchdb.mjs';

const database = 'large';

/** Records after which a checkpoint begins are 1,000. */
const journalRecords = 900;

export async function large(bench, resumed) {
  const documents = bench.size(100_000, 5_000);
  const rounds = bench.size(5, 2);
  const path = `${bench.base}${database}`;
  if (resumed === undefined) {
    await bench.start();
    const longest = await fill(bench, path, documents);
    await fillJournal(bench, path, documents, 0);
    return bench.reload({ scenario: 'large', round: 0, opened: [], openedByPouchdb: [], longest });
  }
  const { round, opened, openedByPouchdb, longest } = resumed;
  const id = idOf(draw(round, documents));
  const measureOurs = async () => {
    opened.push(
      await milliseconds(async () => {
        await bench.start();
        await send(bench.settee.fetch, 'GET', `${path}/${id}`);
      }),
    );
  };
  const measureTheirs = async () => {
    openedByPouchdb.push(await milliseconds(() => newPouchDB('idb', `bench-${database}`).get(id)));
  };
  const inTurn = round % 2 === 0 ? [measureOurs, measureTheirs] : [measureTheirs, measureOurs];
  for (const measure of inTurn) await measure();
  if (round + 1 < rounds) {
    await fillJournal(bench, path, documents, round + 1);
    return bench.reload({ scenario: 'large', round: round + 1, opened, openedByPouchdb, longest });
  }
  return { ...longest, openDirect: median(opened), openIdb: median(openedByPouchdb), largeCount: documents };
}

async function fill(bench, path, documents) {
  const { fetch } = bench.settee;
  await send(fetch, 'PUT', path);
  const theirs = newPouchDB('idb', `bench-${database}`);
  for (let from = 0; from < documents; from += 1_000) {
    const docs = documentsFrom(from, 1_000);
    await send(fetch, 'POST', `${path}/_bulk_docs`, JSON.stringify({ docs }));
    await theirs.bulkDocs(docs);
  }
  await bench.tell(`${documents} documents are there`);
  return measureLongest(bench, path, documents);
}

/** PUTs one after another for as long as several checkpoints take. */
async function measureLongest(bench, path, documents) {
  const { fetch } = bench.settee;
  const latencies = [];
  for (let index = 0; index < bench.size(4_000, 1_500); index += 1) {
    const document = documentAt(documents + index);
    const body = JSON.stringify({ ...document, _id: `put-${draw(index, 1_000_000)}-${index}` });
    latencies.push(await milliseconds(() => send(fetch, 'POST', path, body)));
  }
  return { longestPut: Math.max(...latencies), medianPut: quantile(latencies, 0.5) };
}

/** Checkpoints, then writes nearly as many records as the journal takes before the next. */
async function fillJournal(bench, path, documents, round) {
  const { fetch } = bench.settee;
  // At rest the database checkpoints after two seconds.
  await new Promise((resolve) => setTimeout(resolve, 4_000));
  for (let index = 0; index < journalRecords; index += 1) {
    const _id = `journal-${round}-${draw(index, 1_000_000)}-${index}`;
    await send(fetch, 'POST', path, JSON.stringify({ ...documentAt(documents + index), _id }));
  }
}
