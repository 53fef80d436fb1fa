import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { draw } from '../documents.mjs';
import { figure, interleave } from '../figures.mjs';
import { maps } from '../view-functions.mjs';
import { range, Workload } from '../workload.mjs';

export const name = 'postgres';
export const about =
  'writes, reads and a view on the PostgreSQL that TEST_POSTGRES_URL names, directly and 1.5 ms away, beside LMDB';
/** It needs a server. */
export const isExtra = true;

const DELAY_MS = 1.5;

export async function run(bench) {
  const url = process.env.TEST_POSTGRES_URL;
  if (url === undefined)
    throw new Error('Set TEST_POSTGRES_URL to a PostgreSQL server, such as postgres://user@127.0.0.1/db');
  const proxy = await startProxy(new URL(url), DELAY_MS);
  const schema = (target, label) => {
    const one = new URL(target);
    one.searchParams.set('schema', `bench_${label}_${process.pid}`);
    return one.href;
  };
  const places = { lmdb: bench.newFolder(), postgres: schema(url, 'near'), far: schema(proxy.url, 'far') };
  const servers = {};
  for (const [home, place] of Object.entries(places)) servers[home] = await bench.startSettee(place);
  /** Gives a server that has nothing in memory. */
  const restart = async (home) => {
    await servers[home].stop();
    servers[home] = await bench.startSettee(places[home]);
    return servers[home];
  };
  const measured = { ...(await measureWarm(bench, servers)), ...(await measureCold(bench, servers, restart)) };
  for (const server of Object.values(servers)) await server.stop();
  proxy.close();
  return Object.entries(measured).flatMap(([what, { unit, values }]) =>
    ['postgres', 'far'].map((home) =>
      figure({
        name: `${what}, PostgreSQL${home === 'far' ? ` ${DELAY_MS} ms away` : ''}`,
        ours: values[home],
        floor: values.lmdb,
        floorName: 'on LMDB',
        unit,
      }),
    ),
  );
}

function documentsOf(bench) {
  return bench.size(50_000, 10_000);
}

function interleaved(servers, rounds, work) {
  return interleave(
    rounds,
    Object.fromEntries(Object.keys(servers).map((home) => [home, (round) => work(home, round)])),
  );
}

async function measureWarm(bench, servers) {
  const documents = documentsOf(bench);
  const workloads = {};
  const bulk = {};
  for (const home of Object.keys(servers)) {
    workloads[home] = await Workload.open(servers[home], 'bench', 50);
    await workloads[home].create();
    bulk[home] = (documents / (await workloads[home].load('sequential', 0, documents))) * 1000;
  }
  let next = documents;
  const putNew = async (home, count, options) => {
    const from = next;
    next += count;
    return (await workloads[home].put('sequential', range(from, from + count), options)).ms / count;
  };
  const singles = bench.size(500, 200);
  const put = await interleaved(servers, 5, (home) => putNew(home, singles));
  const many = await interleaved(
    servers,
    5,
    async (home) => 1000 / (await putNew(home, singles * 4, { parallel: true })),
  );
  const get = await interleaved(servers, 5, async (home, round) => {
    const indexes = Array.from({ length: 2000 }, (_, step) => draw(step, documents, round));
    return (await workloads[home].get('sequential', indexes)).ms / indexes.length;
  });
  for (const workload of Object.values(workloads)) workload.close();
  return {
    [`${documents} documents by _bulk_docs`]: { unit: '/s', values: bulk },
    'PUT one after another': { unit: 'ms', values: put },
    'PUT 50 at a time': { unit: '/s', values: many },
    'GET of random documents': { unit: 'ms', values: get },
  };
}

async function measureCold(bench, servers, restart) {
  const documents = documentsOf(bench);
  const get = await interleaved(servers, 3, async (home, round) => {
    const workload = await Workload.open(await restart(home), 'bench');
    const indexes = Array.from({ length: 100 }, (_, step) => draw(step, documents, round));
    const { ms } = await workload.get('sequential', indexes);
    workload.close();
    return ms / indexes.length;
  });
  const build = (database) => async (home, round) => {
    const workload = await Workload.open(await restart(home), database);
    const views = { v: { map: maps[0].replace('null', `${round}`), reduce: '_count' } };
    await workload.ask('PUT', `/_design/d${round}`, JSON.stringify({ views }), 201);
    const startedAt = performance.now();
    const { rows } = await workload.ask('GET', `/_design/d${round}/_view/v`);
    workload.close();
    return (rows[0].value / (performance.now() - startedAt)) * 1000;
  };
  const view = await interleaved(servers, 2, build('bench'));
  // Each of them is in another page than its neighbours.
  for (const server of Object.values(servers)) {
    const workload = await Workload.open(server, 'random');
    await workload.create();
    await workload.load('random', 0, documents);
    workload.close();
  }
  const scattered = await interleaved(servers, 2, build('random'));
  return {
    'GET of random documents after a restart': { unit: 'ms', values: get },
    'documents indexed by a view after a restart': { unit: '/s', values: view },
    'the same, with random ids': { unit: '/s', values: scattered },
  };
}

/** A proxy that delays each chunk by half of the time in each direction. */
async function startProxy(url, delayMs) {
  const sockets = new Set();
  const server = createServer({ noDelay: true }, (client) => {
    const target = connect({ host: url.hostname, port: Number(url.port || 5432), noDelay: true });
    for (const [from, to] of [
      [client, target],
      [target, client],
    ]) {
      sockets.add(from);
      from.on('data', delayed(to, delayMs / 2));
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const proxied = new URL(url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(server.address().port);
  return {
    url: proxied.href,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Writes what it is called with, that much later, in its order. Timers have whole milliseconds; this waits for parts of one, too. */
function delayed(to, ms) {
  const waiting = [];
  const look = () => {
    while (waiting.length > 0 && performance.now() >= waiting[0].due) to.write(waiting.shift().chunk);
    if (waiting.length > 0) setImmediate(look);
  };
  return (chunk) => {
    waiting.push({ chunk, due: performance.now() + ms });
    if (waiting.length === 1) setImmediate(look);
  };
}
