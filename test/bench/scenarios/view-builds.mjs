import { draw, idKinds } from '../documents.mjs';
import { figure, median, quantile } from '../figures.mjs';
import { Connection, toRequest } from '../http-client.mjs';
import { watchMemory } from '../processes.mjs';
import { ROWS_PER_DOCUMENT, views } from '../view-functions.mjs';
import { Workload } from '../workload.mjs';
import { ask, createRows } from './views.mjs';

export const name = 'view-builds';
export const about = 'others while an index of 100,000 documents is built, and a list function over 1,000,000 rows';

const LIST = 'function (head, req) { var row; while (row = getRow()) send(row.key + ":" + row.value + "\\n"); }';

export async function run(bench) {
  const settee = await bench.startSettee();
  const figures = [...(await measureGets(bench, settee)), ...(await measureList(bench, settee))];
  await settee.stop();
  return figures;
}

/** One document after another, for as long as the build takes. */
async function measureGets(bench, settee) {
  const documents = bench.size(100_000, 20_000);
  const workload = await Workload.open(settee, 'busy');
  await workload.create();
  await workload.load('sequential', 0, documents);
  workload.close();
  const [builder, reader] = [await Connection.open(settee.port), await Connection.open(settee.port)];
  const get = async (step) => {
    const startedAt = performance.now();
    await ask(reader, 'GET', `/busy/${idKinds.sequential(draw(step, documents))}`);
    return performance.now() - startedAt;
  };
  for (let step = 0; step < 500; step++) await get(step);
  await ask(builder, 'PUT', '/busy/_design/d', JSON.stringify({ views }));
  const startedAt = performance.now();
  let builtMs;
  const built = ask(builder, 'GET', '/busy/_design/d/_view/people').then(() => {
    builtMs = performance.now() - startedAt;
  });
  const latencies = [];
  for (let step = 0; builtMs === undefined; step++) latencies.push(await get(step));
  await built;
  for (const connection of [builder, reader]) connection.close();
  const note = `${latencies.length} in ${(builtMs / 1_000).toFixed(1)} s, median ${median(latencies).toFixed(1)} ms, longest ${Math.max(...latencies).toFixed(0)} ms`;
  return [
    figure({
      name: `GET while an index of ${documents} documents is built, 99th percentile`,
      ours: quantile(latencies, 0.99),
      unit: 'ms',
      asked: { atMost: 50 },
      note,
    }),
  ];
}

async function measureList(bench, settee) {
  const rows = bench.size(1_000_000, 100_000);
  const connection = await Connection.open(settee.port);
  await createRows(connection, 'listed', rows);
  await ask(connection, 'PUT', '/listed/_design/lists', JSON.stringify({ lists: { lines: LIST } }));
  const request = (limit) => toRequest('GET', `/listed/_design/lists/_list/lines/d/rows?reduce=false&limit=${limit}`);
  // What any list costs is there before.
  await connection.count(request(rows / ROWS_PER_DOCUMENT));
  const before = settee.memory().anonymous;
  const memory = watchMemory(settee);
  const startedAt = performance.now();
  const { status, bytes } = await connection.count(request(rows));
  const seconds = (performance.now() - startedAt) / 1_000;
  const { anonymous } = memory.stop();
  connection.close();
  if (status !== 200) throw new Error(`the list was answered with ${status}`);
  return [
    figure({
      name: `memory that a list function over ${rows} rows costs`,
      ours: Math.max(0, anonymous - before),
      unit: 'MB',
      asked: { atMost: 64 },
      note: `${(bytes / 1e6).toFixed(0)} MB sent in ${seconds.toFixed(1)} s, RssAnon before: ${before.toFixed(0)} MB`,
    }),
  ];
}
