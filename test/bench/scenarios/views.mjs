import { draw } from '../documents.mjs';
import { figure, interleave, median } from '../figures.mjs';
import { Connection, toRequest } from '../http-client.mjs';
import { ServerProcess, Worker } from '../processes.mjs';
import { documentsOfRows, manyRows, maps, views } from '../view-functions.mjs';
import { Workload } from '../workload.mjs';

export const name = 'views';
export const about =
  'views: their building against the bare sandbox, queries at 1,000,000 rows against 10,000, pages, streams';

const DOCUMENTS = 20_000;
const SMALL = 10_000;
const QUERIES = 300;

export async function run(bench) {
  const settee = await bench.startSettee();
  const figures = [
    ...(await measureBuilding(bench, settee)),
    ...(await measureStream(bench, settee)),
    ...(await measureSizes(bench, settee)),
  ];
  await settee.stop();
  return figures;
}

async function measureBuilding(bench, settee) {
  const connection = await Connection.open(settee.port);
  const workload = await Workload.open(settee, 'building');
  await workload.create();
  await workload.bulk('sequential', 0, DOCUMENTS);
  const floor = Worker.start('baselines/sandbox.mjs');
  await floor.call('prepare', DOCUMENTS);
  const { ours, floorMs } = await interleave(bench.size(7, 3), {
    floorMs: () => floor.call('measure', maps),
    ours: (round) => firstQuery(connection, round),
  });
  floor.stop();
  const changed = await measureChange(bench, connection);
  workload.close();
  connection.close();
  const built = figure({
    name: `first query of 3 views, ${DOCUMENTS} documents`,
    ours,
    floor: floorMs,
    floorName: 'bare sandbox',
    unit: 'ms',
    asked: { atMost: 2.5 },
  });
  return [built, changed];
}

/** A new design document each time, queried before the build in the background begins. */
async function firstQuery(connection, round) {
  const path = `/building/_design/d${round}`;
  // The comment makes it another index.
  const own = { ...views, cities: { ...views.cities, map: `${maps[0]} // ${round}` } };
  await ask(connection, 'PUT', path, JSON.stringify({ views: own }));
  const startedAt = performance.now();
  await ask(connection, 'GET', `${path}/_view/people`);
  const ms = performance.now() - startedAt;
  for (const view of ['cities', 'families']) await ask(connection, 'GET', `${path}/_view/${view}`);
  const { _rev: rev } = JSON.parse((await ask(connection, 'GET', path)).text);
  await ask(connection, 'DELETE', `${path}?rev=${rev}`);
  await ask(connection, 'POST', '/building/_view_cleanup', '{}');
  return ms;
}

async function measureChange(bench, connection) {
  await ask(connection, 'PUT', '/building/_design/changed', JSON.stringify({ views }));
  const query = toRequest('GET', '/building/_design/changed/_view/families');
  await connection.send(query);
  const times = [];
  for (let index = 0; index < bench.size(200, 50); index++) {
    await ask(connection, 'PUT', `/building/changed-${index}`, JSON.stringify({ ...sample, n: index }));
    const startedAt = performance.now();
    await connection.send(query);
    times.push(performance.now() - startedAt);
  }
  return figure({ name: 'query after one changed document', ours: median(times), unit: 'ms', asked: { atMost: 3 } });
}

export const sample = {
  address: { city: 'Uppsala' },
  name: { given: 'Ada', family: 'Hughes' },
  email: 'ada@example.org',
  balance: 1,
};

async function measureStream(bench, settee) {
  const connection = await Connection.open(settee.port);
  const request = toRequest('GET', '/building/_design/changed/_view/people?reduce=false');
  const rates = [];
  let size = 0;
  for (let round = 0; round <= bench.size(9, 4); round++) {
    const startedAt = performance.now();
    const { bytes } = await connection.count(request);
    if (round > 0) rates.push(bytes / 1_000 / (performance.now() - startedAt));
    size = bytes;
  }
  connection.close();
  const note = `${(size / 1e6).toFixed(1)} MB`;
  return [
    figure({
      name: `all rows of ${DOCUMENTS} documents`,
      ours: median(rates),
      unit: 'MB/s',
      asked: { atLeast: 60 },
      note,
    }),
  ];
}

async function measureSizes(bench, settee) {
  const large = bench.size(1_000_000, 100_000);
  const connection = await Connection.open(settee.port);
  await createRows(connection, 'large', large);
  await createRows(connection, 'small', SMALL);
  const { text } = await ask(connection, 'GET', pagePath('large', large, 1));
  const bare = await ServerProcess.startModule('baselines/server.mjs', [
    bench.newFolder(),
    JSON.stringify({ text, headers: { 'content-type': 'application/json' } }),
  ]);
  const floor = await Connection.open(bare.port);
  const perQuery = (database, rows, path) => (round) =>
    timeQueries(connection, (step) => path(database, rows, step + round));
  const rounds = bench.size(7, 3);
  const reduced = await interleave(rounds, {
    largeAll: perQuery('large', large, allPath),
    smallAll: perQuery('small', SMALL, allPath),
    largeRange: perQuery('large', large, rangePath),
    smallRange: perQuery('small', SMALL, rangePath),
  });
  const pages = await interleave(rounds, {
    bareMs: () => timeQueries(floor, () => '/database/document'),
    page: perQuery('large', large, pagePath),
    skipped: perQuery('large', large, skipPath),
  });
  for (const one of [connection, floor]) one.close();
  await bare.stop();
  const against = (what, ours, floorMs) =>
    figure({
      name: `_sum over ${what} of ${large} rows`,
      ours,
      floor: floorMs,
      floorName: `at ${SMALL}`,
      unit: 'ms',
      asked: { atMost: 1.5 },
    });
  const beyond = (what, ms) =>
    figure({
      name: `${what}, beyond the bare answer of ${pages.bareMs.toFixed(2)} ms`,
      ours: ms - pages.bareMs,
      unit: 'ms',
      asked: { atMost: 1 },
    });
  return [
    against('all', reduced.largeAll, reduced.smallAll),
    against('a random range', reduced.largeRange, reduced.smallRange),
    beyond(`page of 100 of ${large} rows at a random key`, pages.page),
    beyond(`page of 100 of ${large} rows with skip=${large / 2}`, pages.skipped),
  ];
}

export async function createRows(connection, database, rows) {
  await ask(connection, 'PUT', `/${database}`);
  for (const docs of documentsOfRows(rows)) {
    await ask(connection, 'POST', `/${database}/_bulk_docs`, JSON.stringify({ docs }));
  }
  await ask(connection, 'PUT', `/${database}/_design/d`, JSON.stringify({ views: { rows: manyRows } }));
  await ask(connection, 'GET', allPath(database));
}

function timeQueries(connection, pathOf) {
  return timeRequests(connection, (step) => toRequest('GET', pathOf(step)));
}

/** Milliseconds for one of many, sent one after another. */
export async function timeRequests(connection, requestOf) {
  const requests = Array.from({ length: QUERIES }, (_, step) => requestOf(step));
  const startedAt = performance.now();
  for (const request of requests) await connection.send(request);
  return (performance.now() - startedAt) / QUERIES;
}

const viewPath = (database) => `/${database}/_design/d/_view/rows`;
const allPath = (database) => viewPath(database);
const skipPath = (database, rows) => `${viewPath(database)}?reduce=false&limit=100&skip=${rows / 2}`;
const pagePath = (database, rows, step) =>
  `${viewPath(database)}?reduce=false&limit=100&startkey=${draw(step, rows - 100)}`;

function rangePath(database, rows, step) {
  const [one, other] = [draw(step, rows, 7), draw(step, rows, 8)];
  return `${viewPath(database)}?startkey=${Math.min(one, other)}&endkey=${Math.max(one, other)}`;
}

export async function ask(connection, method, path, body) {
  const answer = await connection.send(toRequest(method, path, body));
  if (answer.status >= 400) throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
  return answer;
}
