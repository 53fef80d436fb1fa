import { figure, interleave } from '../figures.mjs';
import { Workload } from '../workload.mjs';

export const name = 'replication';
export const about =
  'POST _replicate from one database of a server to another, beside _bulk_docs of the same; and how soon an edit arrives';

export async function run(bench) {
  const count = bench.size(20_000, 5_000);
  const server = await bench.startSettee();
  const source = await Workload.open(server, 'source');
  await source.create();
  await source.bulk('random', 0, count);
  const each = await interleave(bench.size(5, 2), {
    copied: (round) => copyInto(server, `copy-${round}`),
    written: (round) => writeInto(server, `written-${round}`, count),
  });
  const arrivalMs = await medianArrival(server, bench.size(50, 20));
  source.close();
  await server.stop();
  return [
    figure({
      name: `replication of ${count} within a server`,
      ours: each.copied,
      unit: 'ms',
      asked: { atMost: count / 20 },
      note: `_bulk_docs of the same: ${each.written.toFixed(0)} ms`,
    }),
    figure({ name: 'an edit arrives at a continuous target', ours: arrivalMs, unit: 'ms', asked: { atMost: 50 } }),
  ];
}

async function copyInto(server, target) {
  const startedAt = performance.now();
  await ask(server, 'POST', '/_replicate', { source: 'source', target, create_target: true });
  const ms = performance.now() - startedAt;
  await ask(server, 'DELETE', `/${target}`);
  return ms;
}

async function writeInto(server, database, count) {
  const workload = await Workload.open(server, database);
  await workload.create();
  const ms = await workload.bulk('random', 0, count);
  await workload.remove();
  workload.close();
  return ms;
}

/** From the answer to a PUT until a feed of the target tells of it. */
async function medianArrival(server, edits) {
  for (const name of ['here', 'there']) await ask(server, 'PUT', `/${name}`);
  const replication = { source: 'here', target: 'there', continuous: true };
  await ask(server, 'POST', '/_replicate', replication);
  const times = [];
  let since = 0;
  for (let edit = 0; edit < edits; edit++) {
    const arrived = ask(server, 'GET', `/there/_changes?feed=longpoll&since=${since}`);
    await ask(server, 'PUT', `/here/doc-${edit}`, { edit });
    const startedAt = performance.now();
    since = (await arrived).last_seq;
    times.push(performance.now() - startedAt);
  }
  await ask(server, 'POST', '/_replicate', { ...replication, cancel: true });
  return times.sort((one, other) => one - other)[Math.floor(times.length / 2)];
}

async function ask(server, method, path, body) {
  const response = await fetch(`http://127.0.0.1:${server.port}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(answer)}`);
  return answer;
}
