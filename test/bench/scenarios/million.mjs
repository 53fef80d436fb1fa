import { execFileSync } from 'node:child_process';
import { draw } from '../documents.mjs';
import { figure, median } from '../figures.mjs';
import { watchMemory } from '../processes.mjs';
import { BATCH, range, Workload } from '../workload.mjs';

export const name = 'million';
export const about = '1,000,000 documents against 10,000: speed, memory, and the opening with a full journal';

const SMALL = 10_000;
const ROUNDS = 3;
const BATCHES = 20;
const READS = 2_000;
const PUTS = 300;
const KILLS = 7;

export async function run(bench) {
  const large = bench.millionDocuments;
  const folder = bench.newFolder();
  const settee = await bench.startSettee(folder);
  const memory = watchMemory(settee);
  const figures = [];
  for (const [kind, atLeast] of [
    ['sequential', 0.7],
    ['random', 0.3],
  ]) {
    const big = await Sized.create(settee, `large-${kind}`, kind, large);
    if (kind === 'sequential')
      figures.push(memoryFigure(`memory after writing ${large}, one database open`, memory.highest));
    figures.push(...(await compareSizes(settee, kind, big, large, atLeast)));
  }
  figures.push(memoryFigure('memory at most, ten databases open', memory.stop()));
  figures.push(...(await measureOpening(bench, settee, folder, large)));
  return figures;
}

async function compareSizes(settee, kind, big, large, atLeast) {
  const small = await Sized.create(settee, `small-${kind}`, kind, SMALL);
  const values = { bigRate: [], smallRate: [], bigGet: [], smallGet: [], bigPut: [], smallPut: [] };
  for (let round = 0; round < ROUNDS; round++) {
    // A new small one each time, since it doubles.
    const fresh = await Sized.create(settee, `small-${kind}-${round}`, kind, SMALL);
    values.smallRate.push(await fresh.bulkRate());
    values.bigRate.push(await big.bulkRate());
    values.smallGet.push(await small.getMs(round));
    values.bigGet.push(await big.getMs(round));
    values.smallPut.push(await small.putMs());
    values.bigPut.push(await big.putMs());
    fresh.close();
  }
  big.close();
  small.close();
  const line = (what, ours, floor, unit, asked, note) =>
    figure({
      name: `${what} at ${large}, ${kind} ids`,
      ours: median(ours),
      floor: median(floor),
      floorName: `at ${SMALL}`,
      unit,
      asked,
      note,
    });
  const loaded = `loaded in ${(big.loadMs / 1_000).toFixed(0)} s`;
  return [
    line('_bulk_docs', values.bigRate, values.smallRate, 'docs/s', { atLeast }, loaded),
    line('GET one after another', values.bigGet, values.smallGet, 'ms', { atMost: 1.3 }),
    line('PUT one after another', values.bigPut, values.smallPut, 'ms', { atMost: 1.5 }),
  ];
}

/** A database of some size that goes on growing. */
class Sized {
  loadMs = 0;
  #workload;
  #kind;
  #size;

  static async create(settee, database, kind, size) {
    const sized = new Sized();
    sized.#workload = await Workload.open(settee, database);
    sized.#kind = kind;
    sized.#size = size;
    await sized.#workload.create();
    sized.loadMs = await sized.#workload.load(kind, 0, size);
    return sized;
  }

  close() {
    this.#workload.close();
  }

  async bulkRate() {
    const from = this.#size;
    this.#size += BATCHES * BATCH;
    return ((BATCHES * BATCH) / (await this.#workload.bulk(this.#kind, from, this.#size))) * 1_000;
  }

  /** Each, for random documents. */
  async getMs(salt) {
    const indexes = Array.from({ length: READS }, (_, step) => draw(step, this.#size, salt));
    return median((await this.#workload.get(this.#kind, indexes)).latencies);
  }

  async putMs() {
    const from = this.#size;
    this.#size += PUTS;
    return (await this.#workload.put(this.#kind, range(from, this.#size))).ms / PUTS;
  }
}

/** Memory of the process itself; the pages of its data files that are in memory belong to the system. */
function memoryFigure(what, { anonymous, file }) {
  const note = `RssAnon; mapped files beside it, RssFile: ${file.toFixed(0)} MB`;
  return figure({ name: what, ours: anonymous, unit: 'MB', asked: { atMost: 350 }, note });
}

/** Kills the server in the middle of single writes, and opens what it leaves behind: in this process, then in a server. */
async function measureOpening(bench, first, folder, large) {
  const times = { inProcess: [], processor: [], cold: [], open: [] };
  let settee = first;
  let next = 2 * large;
  for (let kill = 0; kill < KILLS; kill++) {
    const workload = await Workload.open(settee, 'large-random', 50);
    // More than there is time for.
    const indexes = range(next, next + 20_000);
    next += 20_000;
    const writing = workload.put('random', indexes, { parallel: true }).catch(() => undefined);
    await Promise.race([writing, new Promise((resolve) => setTimeout(resolve, 700 + draw(kill, 400)))]);
    await settee.kill();
    await writing;
    const { openMs, cpuMs } = openInProcess(bench, folder);
    times.inProcess.push(openMs);
    times.processor.push(cpuMs);
    settee = await bench.startSettee(folder);
    const { cold, open } = await firstReads(settee, large);
    times.cold.push(cold);
    times.open.push(open);
  }
  await settee.kill();
  const list = (values) => values.map((value) => value.toFixed(0)).join(', ');
  return [
    figure({
      name: `opening at ${large} random ids after kill -9, longest of ${KILLS}`,
      ours: Math.max(...times.inProcess),
      unit: 'ms',
      asked: { atMost: 100 },
      note: `in process; all: ${list(times.inProcess)}; processor time: ${list(times.processor)}`,
    }),
    figure({
      name: '– first GET of the next server, over a GET when open',
      ours: Math.max(...times.cold) - median(times.open),
      unit: 'ms',
      asked: { atMost: 100 },
      note: `all: ${list(times.cold)}; when open ${median(times.open).toPrecision(2)} ms`,
    }),
  ];
}

function openInProcess(bench, folder) {
  const output = execFileSync(process.execPath, [bench.openDatabaseScript, folder, 'large-random'], {
    encoding: 'utf8',
  });
  return JSON.parse(output);
}

async function firstReads(settee, large) {
  const workload = await Workload.open(settee, 'large-random');
  const indexes = Array.from({ length: 200 }, (_, step) => draw(step, large));
  const { latencies } = await workload.get('random', indexes);
  workload.close();
  return { cold: latencies[0], open: median(latencies.subarray(1)) };
}
