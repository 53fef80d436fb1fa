/**
 * Views: the first query of three, which builds their indexes, and the sum of many rows of an index that is there. PouchDB
 * builds an index of its own for each view; ours come of one pass.
 */
import { interleave, median } from '../figures.mjs';
import { documentsOfRows, manyRows, views as threeViews } from '../view-functions.mjs';
import { each, milliseconds, send } from './measuring.mjs';
import { filled, newPouchDB } from './with-pouchdb.mjs';

const names = Object.keys(threeViews);

export async function views(bench) {
  await bench.start();
  const built = await firstQueries(bench);
  const summed = await sums(bench);
  await bench.settee.close();
  return { ...built, ...summed };
}

/** PouchDB takes a minute or so, and has one round; several of ours lie before, between and after. */
async function firstQueries(bench) {
  const documents = bench.size(20_000, 2_000);
  const { path, databases, remove } = await filled(bench, documents, 'views');
  let made = 0;
  const first = await ourFirstQueries(bench, path, made++);
  const ours = [];
  const measureOurs = async () => {
    for (let count = 0; count < 3; count += 1) ours.push(await ourFirstQueries(bench, path, made++));
  };
  const theirs = {};
  await measureOurs();
  for (const [adapter, database] of Object.entries(databases)) {
    theirs[adapter] = await theirFirstQueries(database);
    await bench.tell(`PouchDB ${adapter}: first query of 3 views in ${theirs[adapter].ms.toFixed(0)} ms`);
    await measureOurs();
  }
  for (const { results } of [...ours, ...Object.values(theirs)]) assertAlike(results, first.results);
  await remove();
  return {
    viewsDirect: median(ours.map(({ ms }) => ms)),
    viewsFirst: first.ms,
    viewsIdb: theirs.idb.ms,
    viewsIndexeddb: theirs.indexeddb.ms,
    viewsCount: documents,
  };
}

/** A new design document each time, queried before the build in the background begins. */
async function ourFirstQueries(bench, path, round) {
  const { fetch } = bench.settee;
  const design = `${path}/_design/d${round}`;
  // The comment makes it another index.
  const { cities } = threeViews;
  const own = { ...threeViews, cities: { ...cities, map: `${cities.map} // ${round}` } };
  const { rev } = await send(fetch, 'PUT', design, JSON.stringify({ views: own }));
  const measured = await measureQueries((name) => send(fetch, 'GET', `${design}/_view/${name}`));
  await send(fetch, 'DELETE', `${design}?rev=${rev}`);
  await send(fetch, 'POST', `${path}/_view_cleanup`, '{}');
  return measured;
}

async function theirFirstQueries(database) {
  await database.put({ _id: '_design/d', views: threeViews });
  return measureQueries((name) => database.query(`d/${name}`));
}

/** All at once, which PouchDB is quicker with: its three databases are written to in parallel. */
async function measureQueries(query) {
  const results = {};
  const ask = async (name) => {
    results[name] = (await query(name)).rows[0].value;
  };
  const ms = await milliseconds(() => Promise.all(names.map(ask)));
  return { ms, results };
}

/** Sums of fractions differ in their last digits, as they were added in another order. */
function assertAlike(results, expected) {
  for (const name of names) {
    if (Math.abs(results[name] / expected[name] - 1) < 1e-9) continue;
    throw new Error(`The view ${name} has ${results[name]} instead of ${expected[name]}`);
  }
}

async function sums(bench) {
  const rows = bench.size(100_000, 10_000);
  const { fetch } = bench.settee;
  const path = `${bench.base}sums`;
  const databases = { idb: newPouchDB('idb'), indexeddb: newPouchDB('indexeddb') };
  await fillWithRows(bench, path, databases, rows);
  const our = () => send(fetch, 'GET', `${path}/_design/d/_view/rows?reduce=true`);
  const their = (adapter) => databases[adapter].query('d/rows', { reduce: true });
  const expected = (await our()).rows[0].value;
  for (const adapter of Object.keys(databases)) {
    const { rows: found } = await their(adapter);
    if (found[0].value !== expected)
      throw new Error(`The sum by ${adapter} is ${found[0].value} instead of ${expected}`);
    await bench.tell(`PouchDB ${adapter} has indexed ${rows} rows`);
  }
  const ms = await interleave(bench.size(3, 1), {
    sumDirect: () => each(100, 1, our),
    sumIdb: () => milliseconds(() => their('idb')),
    sumIndexeddb: () => milliseconds(() => their('indexeddb')),
  });
  await send(fetch, 'DELETE', path);
  for (const database of Object.values(databases)) await database.destroy();
  return { ...ms, sumCount: rows };
}

async function fillWithRows(bench, path, databases, rows) {
  const { fetch } = bench.settee;
  const design = { _id: '_design/d', views: { rows: manyRows } };
  await send(fetch, 'PUT', path);
  for (const docs of [...documentsOfRows(rows), [design]]) {
    await send(fetch, 'POST', `${path}/_bulk_docs`, JSON.stringify({ docs }));
    for (const database of Object.values(databases)) await database.bulkDocs(docs);
  }
}
