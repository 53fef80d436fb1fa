import { figure, interleave } from '../figures.mjs';
import { ServerProcess, Worker } from '../processes.mjs';
import { range, Workload } from '../workload.mjs';
import { bulkInto } from './bulk.mjs';

export const name = 'pouchdb';
export const about = 'bulk and PUT against PouchDB 9 on leveldb: ours through HTTP, PouchDB inside its process';

export async function run(bench) {
  const documents = bench.size(20_000, 5_000);
  const puts = bench.size(1_000, 300);
  const settee = await bench.startSettee();
  const pouchdb = Worker.start('baselines/pouchdb.mjs');
  const floor = await ServerProcess.startModule('baselines/server.mjs', [bench.newFolder()]);
  await pouchdb.call('setFolder', bench.newFolder());
  const ms = await interleave(bench.size(3, 1), {
    theirBulk: () => pouchdb.call('bulk', 'sequential', documents),
    ourBulk: (round) => bulkInto(settee, `bulk-${round}`, 'sequential', documents),
    theirRandomBulk: () => pouchdb.call('bulk', 'random', documents),
    ourRandomBulk: (round) => bulkInto(settee, `random-${round}`, 'random', documents),
    theirPut: () => pouchdb.call('put', puts, 1),
    ourPut: (round) => putInto(settee, `put-${round}`, puts, 1),
    barePut: () => putBare(floor, puts),
    theirParallelPut: () => pouchdb.call('put', puts, 50),
    ourParallelPut: (round) => putInto(settee, `parallel-${round}`, puts, 50),
  });
  pouchdb.stop();
  await settee.stop();
  await floor.kill();
  const bare = `a bare answer over HTTP, with nothing stored, takes ${ms.barePut.toPrecision(3)} ms`;
  return [
    compare(`_bulk_docs of ${documents}`, ms.ourBulk, ms.theirBulk),
    compare(`_bulk_docs of ${documents}, random ids`, ms.ourRandomBulk, ms.theirRandomBulk),
    compare('PUT one after another', ms.ourPut, ms.theirPut, bare),
    compare('PUT 50 at a time, each', ms.ourParallelPut, ms.theirParallelPut),
  ];
}

function compare(what, ours, floor, ...remarks) {
  const note = [`${(floor / ours).toFixed(1)} times as fast`, ...remarks].join('; ');
  return figure({ name: what, ours, floor, floorName: 'PouchDB', unit: 'ms', asked: { atMost: 0.333 }, note });
}

async function putInto(settee, database, count, parallel) {
  const workload = await Workload.open(settee, database, parallel);
  await workload.create();
  const { ms } = await workload.put('sequential', range(0, count), { parallel: parallel > 1 });
  await workload.remove();
  workload.close();
  return ms / count;
}

/** What HTTP alone costs: a server that reads the document, keeps nothing, and answers. */
async function putBare(floor, count) {
  const workload = await Workload.open(floor, 'bare');
  const { ms } = await workload.put('sequential', range(0, count));
  workload.close();
  return ms / count;
}
