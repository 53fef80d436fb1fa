import { draw, idKinds } from '../documents.mjs';
import { figure, interleave } from '../figures.mjs';
import { Connection, toRequest } from '../http-client.mjs';
import { ServerProcess } from '../processes.mjs';
import { ask, sample, timeRequests } from './views.mjs';

export const name = 'find';
export const about =
  '_find: pages of 25 of 100,000 documents by an index, up, down and from the index alone; a full scan';

const DOCUMENTS = 100_000;

export async function run(bench) {
  const settee = await bench.startSettee();
  const figures = await measureFind(bench, settee);
  await settee.stop();
  return figures;
}

/** Pages of 25 documents by an indexed field, and one by a field that has no index. */
async function measureFind(bench, settee) {
  const size = bench.size(DOCUMENTS, 20_000);
  const connection = await Connection.open(settee.port);
  await createFound(connection, size);
  const ask25 = (selector, more = {}) => toRequest('POST', '/found/_find', JSON.stringify({ selector, ...more }));
  const { text } = await connection.send(ask25({ n: { $gte: 0 } }));
  const bare = await ServerProcess.startModule('baselines/server.mjs', [
    bench.newFolder(),
    JSON.stringify({ text, headers: { 'content-type': 'application/json' } }),
  ]);
  const floor = await Connection.open(bare.port);
  const from = (step) => ({ n: { $gte: draw(step, size - 100) } });
  const pages = (more) => (round) => timeRequests(connection, (step) => ask25(from(step + round), more));
  const times = await interleave(bench.size(7, 3), {
    bareMs: () => timeRequests(floor, () => toRequest('GET', '/database/document')),
    page: pages(),
    sorted: pages({ sort: [{ n: 'desc' }] }),
    covered: pages({ fields: ['_id', 'n'] }),
  });
  const startedAt = performance.now();
  await connection.send(ask25({ text: 'nowhere' }));
  const scanMs = performance.now() - startedAt;
  for (const one of [connection, floor]) one.close();
  await bare.stop();
  const beyond = (what, ms, asked) =>
    figure({
      name: `_find, ${what} of ${size}, beyond the bare answer of ${times.bareMs.toFixed(2)} ms`,
      ours: ms - times.bareMs,
      unit: 'ms',
      ...(asked === undefined ? {} : { asked }),
    });
  return [
    beyond('page of 25 at a random key', times.page, { atMost: 2 }),
    beyond('the same downwards, sorted', times.sorted, { atMost: 2 }),
    beyond('the same from the index alone', times.covered),
    figure({ name: `_find without an index in ${size}, nothing found`, ours: scanMs, unit: 'ms' }),
  ];
}

async function createFound(connection, size) {
  await ask(connection, 'PUT', '/found');
  for (let from = 0; from < size; from += 1_000) {
    const docs = Array.from({ length: 1_000 }, (_, index) => {
      return { _id: idKinds.sequential(from + index), ...sample, n: ((from + index) * 7919) % size };
    });
    await ask(connection, 'POST', '/found/_bulk_docs', JSON.stringify({ docs }));
  }
  await ask(connection, 'POST', '/found/_index', JSON.stringify({ index: { fields: ['n'] } }));
  await ask(connection, 'POST', '/found/_find', JSON.stringify({ selector: { n: 0 } }));
}
