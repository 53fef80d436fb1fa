import { figure, interleave } from '../figures.mjs';
import { ServerProcess } from '../processes.mjs';
import { range, Workload } from '../workload.mjs';

export const name = 'put';
export const about =
  'PUT of new documents one after another and 50 at a time, against one durable LMDB commit behind bare hono';

export async function run(bench) {
  const count = bench.size(500, 200);
  const settee = await bench.startSettee();
  const floor = await ServerProcess.startModule('baselines/server.mjs', [bench.newFolder()]);
  const ours = await Workload.open(settee, 'put', 50);
  const bare = await Workload.open(floor, 'put', 50);
  await ours.create();
  let next = 0;
  const putNew = async (workload, howMany, options) => {
    const { ms } = await workload.put('sequential', range(next, next + howMany), options);
    next += howMany;
    return ms / howMany;
  };
  const each = await interleave(bench.size(7, 3), {
    floor: () => putNew(bare, count),
    single: () => putNew(ours, count),
    parallel: () => putNew(ours, count * 4, { parallel: true }),
    floorParallel: () => putNew(bare, count * 4, { parallel: true }),
  });
  ours.close();
  bare.close();
  await settee.stop();
  await floor.kill();
  return [
    figure({
      name: 'PUT one after another',
      ours: each.single,
      floor: each.floor,
      floorName: 'hono + durable LMDB commit of 500 B',
      unit: 'ms',
      asked: { atMost: 1.5 },
    }),
    figure({
      name: 'PUT 50 at a time, each',
      ours: each.parallel,
      floor: each.single,
      floorName: 'our PUT one after another',
      unit: 'ms',
      asked: { atMost: 0.3 },
      note: `the bare server: ${each.floorParallel.toPrecision(3)} ms`,
    }),
  ];
}
