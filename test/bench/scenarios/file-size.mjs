import { setTimeout as delay } from 'node:timers/promises';
import { documentText, idKinds, shuffled } from '../documents.mjs';
import { figure } from '../figures.mjs';
import { Client, toRequest } from '../http-client.mjs';
import { BATCH } from '../workload.mjs';

export const name = 'file-size';
export const about =
  'the size of the file after every document was updated ten times in random order, without compaction';

const TURNS = 10;
/** By then a database that nobody writes to has done what it does when idle. */
const IDLE_MS = 5_000;

export async function run(bench) {
  const count = bench.size(50_000, 10_000);
  const settee = await bench.startSettee();
  const client = await Client.open(settee.port);
  await client.ask('PUT', '/size', undefined, 201);
  const revs = new Array(count);
  const startedAt = performance.now();
  for (let turn = 0; turn <= TURNS; turn++) await writeAll(client, shuffled(count, turn), revs, turn);
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await client.ask('GET', '/size');
  await delay(IDLE_MS);
  const idle = await client.ask('GET', '/size');
  client.close();
  await settee.stop();
  const plain = plainSize(count, revs);
  const inMegabytes = (bytes) => (bytes / 1e6).toFixed(1);
  return [
    figure({
      name: `disk_size after ${TURNS} updates of each of ${count}`,
      ours: after.disk_size / 1e6,
      floor: after.data_size / 1e6,
      floorName: 'data_size',
      unit: 'MB',
      asked: { atMost: 2 },
      note: `JSON texts: ${inMegabytes(plain)} MB; ${seconds.toFixed(0)} s of writing`,
    }),
    figure({
      name: `– ${IDLE_MS / 1_000} s later`,
      ours: idle.disk_size / 1e6,
      floor: idle.data_size / 1e6,
      floorName: 'data_size',
      unit: 'MB',
    }),
  ];
}

async function writeAll(client, order, revs, version) {
  for (let from = 0; from < order.length; from += BATCH) {
    const indexes = order.subarray(from, from + BATCH);
    const texts = Array.from(indexes, (index) => textOf(index, revs[index], version));
    const request = toRequest('POST', '/size/_bulk_docs', `{"docs":[${texts.join()}]}`);
    await client.sendAll([request], 201, (answer) => {
      JSON.parse(answer.text).forEach(({ ok, rev, id }, row) => {
        if (!ok) throw new Error(`${id} was refused`);
        revs[indexes[row]] = rev;
      });
    });
  }
}

function textOf(index, rev, version) {
  return documentText(index, idKinds.sequential(index), { rev, version });
}

/** What a client would have to keep: the texts with their ids and revisions. */
function plainSize(count, revs) {
  let bytes = 0;
  for (let index = 0; index < count; index++) bytes += Buffer.byteLength(textOf(index, revs[index], TURNS));
  return bytes;
}
