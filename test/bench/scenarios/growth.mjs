import { readFileSync } from 'node:fs';
import { draw } from '../documents.mjs';
import { figure, median } from '../figures.mjs';
import { watchMemory } from '../processes.mjs';
import { BATCH, range, Workload } from '../workload.mjs';

export const name = 'growth';
export const about =
  'one database while it grows to 1,000,000 random ids, a restart, a first view; minutes, and only where named';
/** Not part of a run of all scenarios. */
export const isExtra = true;

const SIZES = [20_000, 100_000, 300_000, 1_000_000];
const BATCHES = 20;
const READS = 1_000;
const PUTS = 200;
const PAGES = 20;
const KIND = 'random';
/** Of /proc/PID/stat. */
const TICKS_PER_SECOND = 100;

const map = 'function (doc) { emit(doc.born, doc.balance); }';

export async function run(bench) {
  const folder = bench.newFolder();
  let settee = await bench.startSettee(folder);
  await warmUp(settee);
  const figures = [];
  const measured = [];
  const workload = await Workload.open(settee, 'growth');
  await workload.create();
  let size = 0;
  for (const target of SIZES.filter((documents) => documents <= bench.millionDocuments)) {
    const from = target - BATCHES * BATCH - PUTS;
    await workload.load(KIND, size, from);
    measured.push(await measure(settee, workload, { size: target, from, first: measured[0] }));
    size = target;
    process.stderr.write(`${target} … `);
  }
  for (const { lines } of measured) figures.push(...lines);
  workload.close();
  await settee.kill();
  const began = performance.now();
  settee = await bench.startSettee(folder);
  figures.push(...(await afterRestart(settee, size, began)));
  await settee.stop();
  return figures;
}

/** What is measured first must not be what the process does first. */
async function warmUp(settee) {
  const workload = await Workload.open(settee, 'warm-up');
  await workload.create();
  await workload.load(KIND, 0, BATCHES * BATCH);
  await workload.put(KIND, range(BATCHES * BATCH, BATCHES * BATCH + PUTS));
  await getMs(workload, BATCHES * BATCH);
  await pageMs(workload, BATCHES * BATCH);
  await workload.remove();
  workload.close();
}

/** The last documents up to `size`: in batches, and one by one. */
async function measure(settee, workload, { size, from, first }) {
  const watched = watchMemory(settee);
  const to = from + BATCHES * BATCH;
  const before = processorMs(settee);
  const bulkMs = await workload.bulk(KIND, from, to);
  const values = {
    rate: ((to - from) / bulkMs) * 1_000,
    processor: ((processorMs(settee) - before) / (to - from)) * 1_000,
    put: median((await workload.put(KIND, range(to, size))).latencies),
    get: await getMs(workload, size),
    page: await pageMs(workload, size),
  };
  const { anonymous, file } = watched.stop();
  const line = (what, key, unit, note) =>
    figure({
      name: `${what} at ${size}`,
      ours: values[key],
      unit,
      note,
      ...(first === undefined ? {} : { floor: first.values[key], floorName: `at ${first.size}` }),
    });
  const lines = [
    line('_bulk_docs of 1,000', 'rate', 'docs/s'),
    line('– processor time of 1,000 documents', 'processor', 'ms'),
    line('PUT one after another', 'put', 'ms'),
    line('GET one after another', 'get', 'ms'),
    line('_all_docs, a page of 100', 'page', 'ms'),
    figure({ name: '– memory meanwhile', ours: anonymous, unit: 'MB', note: mapped(file) }),
  ];
  return { size, values, lines };
}

function mapped(megabytes) {
  return `RssAnon; mapped files beside it, RssFile: ${megabytes.toFixed(0)} MB`;
}

async function getMs(workload, size) {
  const indexes = Array.from({ length: READS }, (_, step) => draw(step, size));
  return median((await workload.get(KIND, indexes)).latencies);
}

async function pageMs(workload, size) {
  const times = [];
  for (let step = 0; step < PAGES; step++) {
    const start = encodeURIComponent(JSON.stringify(workload.idOf(KIND, draw(step, size))));
    const began = performance.now();
    await workload.ask('GET', `/_all_docs?limit=100&startkey=${start}`);
    times.push(performance.now() - began);
  }
  return median(times);
}

/** Of all threads. */
function processorMs({ pid }) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [user, system] = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .slice(11, 13);
  return ((Number(user) + Number(system)) / TICKS_PER_SECOND) * 1_000;
}

async function afterRestart(settee, size, began) {
  const workload = await Workload.open(settee, 'growth');
  await workload.info();
  const firstMs = performance.now() - began;
  const idle = settee.memory();
  await workload.ask('PUT', '/_design/sums', JSON.stringify({ views: { born: { map, reduce: '_sum' } } }), 201);
  const watched = watchMemory(settee);
  const before = processorMs(settee);
  const buildBegan = performance.now();
  await workload.ask('GET', '/_design/sums/_view/born');
  const buildMs = performance.now() - buildBegan;
  const processor = processorMs(settee) - before;
  const { anonymous, file } = watched.stop();
  const sums = [];
  for (let step = 0; step < PAGES; step++) {
    const sumBegan = performance.now();
    await workload.ask('GET', `/_design/sums/_view/born?startkey=${1931 + step}&endkey=${1960 + step}`);
    sums.push(performance.now() - sumBegan);
  }
  workload.close();
  return [
    figure({ name: `kill -9 at ${size}: start to the first answer`, ours: firstMs, unit: 'ms' }),
    figure({ name: '– memory then', ours: idle.anonymous, unit: 'MB', note: mapped(idle.file) }),
    figure({
      name: `first view of ${size} documents`,
      ours: buildMs / 1_000,
      unit: 's',
      note: `processor time ${(processor / 1_000).toFixed(1)} s`,
    }),
    figure({ name: '– memory meanwhile', ours: anonymous, unit: 'MB', note: mapped(file) }),
    figure({ name: '– sum of a range', ours: median(sums), unit: 'ms' }),
  ];
}
