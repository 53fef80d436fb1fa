import { figure, median } from '../figures.mjs';
import { Connection, toRequest } from '../http-client.mjs';
import { watchMemory } from '../processes.mjs';
import { Workload } from '../workload.mjs';

export const name = 'all-docs';
export const about = '_all_docs?include_docs=true: its speed, and the memory that a slow reader costs';

const SLOW_BYTES_PER_MS = 15_000;

export async function run(bench) {
  const settee = await bench.startSettee();
  const fast = await measureSpeed(bench, settee);
  const slow = await measureSlowReader(bench, settee);
  await settee.stop();
  return [fast, slow];
}

async function measureSpeed(bench, settee) {
  const rows = 20_000;
  const workload = await Workload.open(settee, 'fast');
  await workload.create();
  await workload.bulk('sequential', 0, rows);
  workload.close();
  const connection = await Connection.open(settee.port);
  const rates = [];
  let size = 0;
  for (let round = 0; round <= bench.size(9, 4); round++) {
    const startedAt = performance.now();
    const { bytes } = await connection.count(toRequest('GET', '/fast/_all_docs?include_docs=true'));
    if (round > 0) rates.push(bytes / 1_000 / (performance.now() - startedAt));
    size = bytes;
  }
  connection.close();
  return figure({
    name: `_all_docs with documents, ${rows} rows`,
    ours: median(rates),
    unit: 'MB/s',
    asked: { atLeast: 60 },
    note: `${(size / 1e6).toFixed(1)} MB`,
  });
}

/** A reader that takes what it gets in small portions, as over a slow line. */
async function measureSlowReader(bench, settee) {
  const rows = bench.size(200_000, 50_000);
  const workload = await Workload.open(settee, 'slow');
  await workload.create();
  await workload.load('sequential', 0, rows);
  workload.close();
  const connection = await Connection.open(settee.port);
  // Once at full speed, so that what any reading costs is there before.
  await connection.count(toRequest('GET', '/slow/_all_docs?include_docs=true'));
  const before = settee.memory().anonymous;
  const memory = watchMemory(settee);
  const startedAt = performance.now();
  let taken = 0;
  const { bytes } = await connection.count(toRequest('GET', '/slow/_all_docs?include_docs=true'), (chunk, socket) => {
    taken += chunk.length;
    const early = taken / SLOW_BYTES_PER_MS - (performance.now() - startedAt);
    if (early < 5) return;
    socket.pause();
    setTimeout(() => socket.resume(), early);
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  const { anonymous } = memory.stop();
  connection.close();
  return figure({
    name: `memory that a slow reader of ${rows} rows costs`,
    ours: anonymous - before,
    unit: 'MB',
    asked: { atMost: 64 },
    note: `${(bytes / 1e6).toFixed(0)} MB read in ${seconds.toFixed(1)} s, RssAnon before: ${before.toFixed(0)} MB`,
  });
}
