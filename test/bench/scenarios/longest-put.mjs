import { figure, quantile } from '../figures.mjs';
import { range, Workload } from '../workload.mjs';

export const name = 'longest-put';
export const about = 'the longest PUT while checkpoints run: random ids, 50 at a time';

export async function run(bench) {
  const documents = bench.size(200_000, 30_000);
  const count = bench.size(30_000, 6_000);
  const settee = await bench.startSettee();
  const workload = await Workload.open(settee, 'longest', 50);
  await workload.create();
  await workload.load('random', 0, documents);
  const { ms, latencies } = await workload.put('random', range(documents, documents + count), { parallel: true });
  workload.close();
  await settee.stop();
  return [
    figure({
      name: `longest of ${count} PUTs, 50 at a time, at ${documents} random ids`,
      ours: Math.max(...latencies),
      unit: 'ms',
      asked: { atMost: 100 },
      note: `median ${quantile(latencies, 0.5).toFixed(1)}, 99 % ${quantile(latencies, 0.99).toFixed(1)}, ${((count / ms) * 1_000).toFixed(0)} a second`,
    }),
  ];
}
