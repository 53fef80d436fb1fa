import { figure, interleave } from '../figures.mjs';
import { Worker } from '../processes.mjs';
import { Workload } from '../workload.mjs';

export const name = 'bulk';
export const about = '_bulk_docs in batches of 1,000, against JSON.parse + JSON.stringify + MD5 of the same documents';

export async function run(bench) {
  const count = bench.size(20_000, 10_000);
  const server = await bench.startSettee();
  const floor = Worker.start('baselines/hash.mjs');
  const figures = [];
  for (const [kind, atMost] of [
    ['sequential', 4],
    ['random', 7],
  ]) {
    await floor.call('prepare', kind, count);
    const { ours, floorMs, cryptoMs } = await interleave(bench.size(7, 3), {
      floorMs: () => floor.call('measure', 'hash-wasm'),
      cryptoMs: () => floor.call('measure', 'node:crypto'),
      ours: (round) => bulkInto(server, `bulk-${kind}-${round}`, kind, count),
    });
    figures.push(
      figure({
        name: `_bulk_docs of ${count}, ${kind} ids`,
        ours,
        floor: floorMs,
        floorName: 'parse + stringify + MD5 by hash-wasm',
        unit: 'ms',
        asked: { atMost },
        note: `${cryptoMs.toFixed(0)} ms with MD5 by node:crypto`,
      }),
    );
  }
  floor.stop();
  await server.stop();
  return figures;
}

/** Milliseconds for a new database's documents. */
export async function bulkInto(server, database, kind, count) {
  const workload = await Workload.open(server, database);
  await workload.create();
  const ms = await workload.bulk(kind, 0, count);
  await workload.remove();
  workload.close();
  return ms;
}
