/** One build in one browser: posts milliseconds, by the names of the rows in against.mjs. Nothing is bundled, so that any build can be measured. */
import { draw } from '../documents.mjs';
import { median } from '../figures.mjs';
import { documentAt, documentsFrom, each, idOf, milliseconds, send } from './measuring.mjs';
import { visit } from './visit.mjs';

const isQuick = new URLSearchParams(location.search).has('quick');
const size = (whole, quick) => (isQuick ? quick : whole);
const path = '/db/notes';

try {
  await fetch('/results', { method: 'POST', body: JSON.stringify(await measure()) });
} catch (error) {
  await fetch('/failure', { method: 'POST', body: `${error}\n${error.stack}` });
}

async function measure() {
  const began = performance.now();
  const { start } = await import('/settee.js');
  const settee = await start({ base: '/db/', waitFor: 'database' });
  const call = (...request) => send(settee.fetch, ...request);
  await call('PUT', path);
  await call('PUT', `${path}/first`, '{"text":"Hello"}');
  const values = { cold: performance.now() - began };
  Object.assign(values, await visits(), await requests(call), await views(call));
  await settee.close();
  return values;
}

/** On origins of their own, whose storage and cache are empty at first. */
async function visits() {
  const firsts = [];
  const seconds = [];
  for (let round = 0; round < size(7, 2); round += 1) {
    const origin = await (await fetch('/new-origin', { method: 'POST' })).text();
    const page = `${origin}/constant/visit.html?write`;
    firsts.push(await visit(page));
    seconds.push(await visit(page), await visit(page));
  }
  return { newOrigin: median(firsts), secondVisit: median(seconds) };
}

/** The first round of each kind warms up. */
async function requests(call) {
  const rounds = size(5, 2);
  const documents = size(10_000, 2_000);
  let made = 0;
  const fresh = (count) => {
    made += count;
    return made - count;
  };
  const create = (count, parallel) => {
    const from = fresh(count);
    return each(count, parallel, (index) => call('PUT', `${path}/${idOf(from + index)}`, textAt(from + index)));
  };
  const update = async (count) => {
    const from = fresh(count);
    const docs = documentsFrom(from, count);
    const written = await call('POST', `${path}/_bulk_docs`, JSON.stringify({ docs }));
    return each(count, 1, (index) => {
      const { id, rev } = written[index];
      return call('PUT', `${path}/${id}?rev=${rev}`, textAt(from + index));
    });
  };
  const bulk = async () => {
    const docs = documentsFrom(fresh(1_000), 1_000);
    return milliseconds(() => call('POST', `${path}/_bulk_docs`, JSON.stringify({ docs })));
  };
  const read = (parallel) =>
    each(size(1_000, 200), parallel, (index) => call('GET', `${path}/${idOf(draw(index, documents))}`));
  while (made < documents) await bulk();
  const kinds = {
    create: () => create(size(300, 100), 1),
    update: () => update(size(300, 100)),
    create50: () => create(size(1_000, 200), 50),
    bulk,
    read: () => read(1),
    read50: () => read(50),
    allDocs: () => milliseconds(() => call('GET', `${path}/_all_docs?include_docs=true&limit=10000`)),
  };
  const values = {};
  for (const [name, run] of Object.entries(kinds)) {
    await run();
    const measured = [];
    for (let round = 0; round < rounds; round += 1) measured.push(await run());
    values[name] = median(measured);
  }
  return values;
}

/** The first query of this page also loads what views need. */
async function views(call) {
  const map = 'function (doc) { if (doc.type) emit(doc.address.city, doc.balance); }';
  const design = JSON.stringify({ views: { cities: { map, reduce: '_sum' } } });
  await call('PUT', `${path}/_design/first`, design);
  const query = (name, options) => call('GET', `${path}/_design/${name}/_view/cities${options}`);
  const firstQuery = await milliseconds(() => query('first', ''));
  const reduce = [];
  const afterUpdate = [];
  for (let round = 0; round <= size(30, 5); round += 1) {
    reduce.push(await milliseconds(() => query('first', '?group=true')));
    await call('PUT', `${path}/view-${round}`, textAt(round, `view-${round}`));
    afterUpdate.push(await milliseconds(() => query('first', '')));
  }
  await call('PUT', `${path}/_design/other`, design.replace('doc.balance', 'doc.born'));
  const secondIndex = await milliseconds(() => query('other', ''));
  return { firstQuery, secondIndex, reduce: median(reduce.slice(1)), afterUpdate: median(afterUpdate.slice(1)) };
}

function textAt(index, _id = idOf(index)) {
  return JSON.stringify({ ...documentAt(index), _id });
}
