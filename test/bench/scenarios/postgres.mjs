import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { BareStatements } from '../bare-statements.mjs';
import { draw } from '../documents.mjs';
import { figure, interleave } from '../figures.mjs';
import { ServerProcess } from '../processes.mjs';
import { maps } from '../view-functions.mjs';
import { range, Workload } from '../workload.mjs';

export const name = 'postgres';
export const about =
  'writes, reads and a view on PostgreSQL, directly and 1.5 ms away, beside LMDB and bare statements';
/** It needs PostgreSQL: it starts a server, or uses the one that TEST_POSTGRES_URL names. */
export const isExtra = true;

const DELAY_MS = 1.5;
/** Where Settee keeps its databases, and on which server bare statements are compared with it. */
const HOMES = ['lmdb', 'postgres', 'far'];
const BARE = { postgres: 'bare', far: 'farBare' };

/** What was reached with 50,000 documents on 2 cores with PostgreSQL 15, or is asked. */
const AIMS = {
  bulk: { postgres: '25300/s', far: '21600/s' },
  put: { postgres: '0.81 ms', far: '2.8 ms' },
  many: { postgres: '13600/s', far: '10500/s' },
  get: { postgres: '0.007 ms' },
  cold: { postgres: '0.98 ms' },
  view: { postgres: '13400/s', far: '10000/s' },
};

export async function run(bench) {
  const given = process.env.TEST_POSTGRES_URL;
  const own = given === undefined ? await ServerProcess.startPostgres(bench.postgresServerScript) : undefined;
  const url = given ?? `postgres://postgres@127.0.0.1:${own.port}/postgres`;
  const proxy = await startProxy(new URL(url), DELAY_MS);
  const schemas = { postgres: `bench_near_${process.pid}`, far: `bench_far_${process.pid}` };
  const schemaUrl = (target, schema) => {
    const one = new URL(target);
    one.searchParams.set('schema', schema);
    return one.href;
  };
  const places = {
    lmdb: bench.newFolder(),
    postgres: schemaUrl(url, schemas.postgres),
    far: schemaUrl(proxy.url, schemas.far),
  };
  const servers = {};
  for (const home of HOMES) servers[home] = await bench.startSettee(places[home]);
  const bare = {
    bare: await BareStatements.open(url, `bench_bare_${process.pid}`),
    farBare: await BareStatements.open(proxy.url, `bench_far_bare_${process.pid}`),
  };
  /** Gives a server that has nothing in memory. */
  const restart = async (home) => {
    await servers[home].stop();
    servers[home] = await bench.startSettee(places[home]);
    return servers[home];
  };
  const measured = [
    ...(await measureWarm(bench, servers, bare)),
    ...(await measureCold(bench, servers, bare, restart)),
  ];
  for (const server of Object.values(servers)) await server.stop();
  for (const one of Object.values(bare)) await one.close();
  await dropSchemas(url, Object.values(schemas));
  proxy.close();
  await own?.stop();
  return measured.flatMap(toFigures);
}

/** For each distance a line beside LMDB, and one beside the bare statement if there is one. */
function toFigures({ name: what, key, unit, values }) {
  return Object.keys(BARE).flatMap((home) => {
    const aim = AIMS[key]?.[home];
    const line = {
      name: `${what}, PostgreSQL${home === 'far' ? ` ${DELAY_MS} ms away` : ''}`,
      ours: values[home],
      unit,
      ...(aim !== undefined && { note: `aim ${aim}` }),
    };
    const bare = values[BARE[home]];
    return [
      figure({ ...line, floor: values.lmdb, floorName: 'on LMDB' }),
      ...(bare === undefined ? [] : [figure({ ...line, floor: bare, floorName: 'bare statements' })]),
    ];
  });
}

async function dropSchemas(url, schemas) {
  const { default: pg } = await import('pg');
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const schema of schemas) await client.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  await client.end();
}

function documentsOf(bench) {
  return bench.size(50_000, 10_000);
}

/** `work` by the name of a home, and `bareWork`, which may be missing, by that of bare statements. */
function interleaved(rounds, work, bareWork) {
  const measurements = HOMES.map((home) => [home, (round) => work(home, round)]);
  const bare = bareWork === undefined ? [] : Object.values(BARE).map((one) => [one, (round) => bareWork(one, round)]);
  return interleave(rounds, Object.fromEntries([...measurements, ...bare]));
}

async function measureWarm(bench, servers, bare) {
  const documents = documentsOf(bench);
  const workloads = {};
  const bulk = {};
  for (const home of HOMES) {
    workloads[home] = await Workload.open(servers[home], 'bench', 50);
    await workloads[home].create();
    bulk[home] = (documents / (await workloads[home].load('sequential', 0, documents))) * 1000;
  }
  for (const [name, one] of Object.entries(bare)) bulk[name] = (documents / (await one.bulk(0, documents))) * 1000;
  let next = documents;
  /** Milliseconds for each of so many new documents. */
  const putNew = async (count, put) => {
    const from = next;
    next += count;
    return (await put(from, from + count)) / count;
  };
  const putBy = (home, options) => async (from, to) =>
    (await workloads[home].put('sequential', range(from, to), options)).ms;
  const singles = bench.size(500, 200);
  const put = await interleaved(
    5,
    (home) => putNew(singles, putBy(home)),
    (name) => putNew(singles, (from, to) => bare[name].put(from, to)),
  );
  const many = await interleaved(
    5,
    async (home) => 1000 / (await putNew(singles * 4, putBy(home, { parallel: true }))),
    async (name) => 1000 / (await putNew(singles * 4, (from, to) => bare[name].put(from, to, 50))),
  );
  const get = await interleaved(5, async (home, round) => {
    const indexes = drawn(2000, documents, round);
    return (await workloads[home].get('sequential', indexes)).ms / indexes.length;
  });
  for (const workload of Object.values(workloads)) workload.close();
  return [
    { key: 'bulk', name: `${documents} documents by _bulk_docs`, unit: '/s', values: bulk },
    { key: 'put', name: 'PUT one after another', unit: 'ms', values: put },
    { key: 'many', name: 'PUT 50 at a time', unit: '/s', values: many },
    { key: 'get', name: 'GET of random documents', unit: 'ms', values: get },
  ];
}

function drawn(count, documents, round) {
  return Array.from({ length: count }, (_, step) => draw(step, documents, round));
}

async function measureCold(bench, servers, bare, restart) {
  const documents = documentsOf(bench);
  const cold = await interleaved(
    3,
    async (home, round) => {
      const workload = await Workload.open(await restart(home), 'bench');
      const indexes = drawn(100, documents, round);
      const { ms } = await workload.get('sequential', indexes);
      workload.close();
      return ms / indexes.length;
    },
    async (name, round) => (await bare[name].get(drawn(100, documents, round))) / 100,
  );
  const build = (database) => async (home, round) => {
    const workload = await Workload.open(await restart(home), database);
    const views = { v: { map: maps[0].replace('null', `${round}`), reduce: '_count' } };
    await workload.ask('PUT', `/_design/d${round}`, JSON.stringify({ views }), 201);
    const startedAt = performance.now();
    const { rows } = await workload.ask('GET', `/_design/d${round}/_view/v`);
    workload.close();
    return (rows[0].value / (performance.now() - startedAt)) * 1000;
  };
  const scan = async (name) => {
    const startedAt = performance.now();
    return ((await bare[name].scan()) / (performance.now() - startedAt)) * 1000;
  };
  const view = await interleaved(2, build('bench'), scan);
  // Each of them is in another page than its neighbours.
  for (const server of Object.values(servers)) {
    const workload = await Workload.open(server, 'random');
    await workload.create();
    await workload.load('random', 0, documents);
    workload.close();
  }
  const scattered = await interleaved(2, build('random'));
  return [
    { key: 'cold', name: 'GET of random documents after a restart', unit: 'ms', values: cold },
    { key: 'view', name: 'documents indexed by a view after a restart', unit: '/s', values: view },
    { key: 'scattered', name: 'the same, with random ids', unit: '/s', values: scattered },
  ];
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
