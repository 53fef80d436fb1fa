/** Settee, as the peers beside it are asked: `settee.fetch` of the page, one database for each store. */
import { start } from 'settee';
import { send } from '../browser/measuring.mjs';

const MAP = 'function (doc) { emit(doc.born, doc.balance); }';
const FULL_COMMIT = { 'X-Svc-Full-Commit': 'true' };

let started;

export async function open(name, { strict = false } = {}) {
  started ??= start({ base: '/db/', waitFor: 'database' });
  const { fetch } = await started;
  const path = `/db/${name}`;
  await send(fetch, 'PUT', `${path}?if-missing=true`);
  const headers = { 'content-type': 'application/json', ...(strict ? FULL_COMMIT : {}) };
  const put = async ({ id, ...fields }, query = '') => {
    const answer = await fetch(`${path}/${id}${query}`, { method: 'PUT', headers, body: JSON.stringify(fields) });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  return {
    put,
    update: (document, { rev }) => put(document, `?rev=${rev}`),
    get: (id) => send(fetch, 'GET', `${path}/${id}`),
    async putMany(documents) {
      const docs = documents.map(({ id, ...fields }) => ({ _id: id, ...fields }));
      await send(fetch, 'POST', `${path}/_bulk_docs`, JSON.stringify({ docs }));
    },
    index: () => send(fetch, 'POST', `${path}/_index`, '{"index":{"fields":["born"]}}'),
    async find(from, below) {
      const selector = { born: { $gte: from, $lt: below } };
      const { docs } = await send(fetch, 'POST', `${path}/_find`, JSON.stringify({ selector, limit: 100_000 }));
      return docs;
    },
    indexForSums: () =>
      send(fetch, 'PUT', `${path}/_design/sums`, JSON.stringify({ views: { born: { map: MAP, reduce: '_sum' } } })),
    async sum(from, below) {
      const range = `startkey=${from}&endkey=${below}&inclusive_end=false`;
      const { rows } = await send(fetch, 'GET', `${path}/_design/sums/_view/born?${range}`);
      return rows[0].value;
    },
    remove: () => send(fetch, 'DELETE', path),
  };
}
