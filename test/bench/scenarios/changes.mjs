import { figure, interleave } from '../figures.mjs';
import { Connection, toRequest } from '../http-client.mjs';
import { Worker } from '../processes.mjs';
import { Workload } from '../workload.mjs';
import { ask } from './views.mjs';

export const name = 'changes';
export const about = '_changes of 20,000 rows, against _all_docs, and with a filter function against the bare sandbox';

const ROWS = 20_000;
const FILTER = 'function (doc, req) { return doc.balance > 0; }';
/** The same work for a bare sandbox: each document in, a decision out. */
const DECISION = 'function (doc) { emit(null, doc.balance > 0); }';

export async function run(bench) {
  const settee = await bench.startSettee();
  const workload = await Workload.open(settee, 'changed');
  await workload.create();
  await workload.bulk('sequential', 0, ROWS);
  workload.close();
  const connection = await Connection.open(settee.port);
  await ask(connection, 'PUT', '/changed/_design/d', JSON.stringify({ filters: { rich: FILTER } }));
  const sandbox = Worker.start('baselines/sandbox.mjs');
  await sandbox.call('prepare', ROWS);
  const sizes = {};
  const read = (what, path) => async () => {
    const startedAt = performance.now();
    sizes[what] = (await connection.count(toRequest('GET', path))).bytes;
    return performance.now() - startedAt;
  };
  const times = await interleave(bench.size(9, 4), {
    allDocs: read('allDocs', '/changed/_all_docs'),
    rows: read('rows', '/changed/_changes'),
    documents: read('documents', '/changed/_changes?include_docs=true'),
    filtered: read('filtered', '/changed/_changes?filter=d/rich'),
    sandbox: () => sandbox.call('measure', [DECISION]),
  });
  connection.close();
  sandbox.stop();
  await settee.stop();
  const rate = (what) => sizes[what] / 1_000 / times[what];
  const note = (what) => `${(sizes[what] / 1e6).toFixed(1)} MB in ${times[what].toFixed(0)} ms`;
  const speed = (label, what, more) =>
    figure({ name: label, ours: rate(what), unit: 'MB/s', note: note(what), ...more });
  return [
    speed(`_changes, ${ROWS} rows`, 'rows', { asked: { atLeast: 60 } }),
    speed('the same with documents', 'documents', { asked: { atLeast: 60 } }),
    figure({
      name: `_changes, ${ROWS} rows`,
      ours: times.rows,
      floor: times.allDocs,
      floorName: '_all_docs',
      unit: 'ms',
    }),
    figure({
      name: `a filter function over ${ROWS} changes`,
      ours: times.filtered,
      floor: times.sandbox,
      floorName: 'bare sandbox',
      unit: 'ms',
      asked: { atMost: 1.5 },
    }),
  ];
}
