/** What the server has when its pages are taken. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../src/node/prepare.mjs';

export const admin = { name: 'ada', password: 'for pictures' };

const BATCH = 5000;

export async function fillServer(server) {
  const ask = askerOf(server);
  for (const name of ['_users', '_replicator', 'settee-demo', 'settee-notes', 'countries', 'cities', 'notes'])
    await ask('PUT', `${name}?if-missing=true`);
  for (const name of ['countries', 'cities']) await fillFrom(ask, name);
  await ask('PUT', 'countries/_design/regions', {
    views: {
      area: { map: 'function (doc) {\n  emit([doc.region, doc.subregion], doc.area);\n}', reduce: '_stats' },
    },
  });
  await ask('POST', 'cities/_index', { index: { fields: ['country', 'name'] }, name: 'by-country' });
  await makeConflict(ask);
  for (const name of ['ben', 'carla']) {
    await ask('PUT', `_users/org.couchdb.user:${name}`, { name, password: name, roles: ['editor'], type: 'user' });
  }
  await ask('PUT', '_replicator/countries-to-branch', {
    source: `${server}countries`,
    target: `${server}countries-branch`,
    create_target: true,
    continuous: true,
    ...withRights(),
  });
}

/** A note with three leaves, as three devices leave one behind. */
async function makeConflict(ask) {
  const first = '1-0f1e2d3c4b5a69788796a5b4c3d2e1f0';
  const note = (rev, text, place, by) => ({
    _id: 'lighthouse',
    _revisions: { start: 2, ids: [rev, first.slice(2)] },
    title: 'The lighthouse',
    text,
    place,
    by,
  });
  await ask('POST', 'notes/_bulk_docs', {
    new_edits: false,
    docs: [
      {
        _id: 'lighthouse',
        _rev: first,
        title: 'The lighthouse',
        text: 'Closed today.',
        place: 'Cape Otway',
        by: 'ada',
      },
      note('c1a9', 'Open from ten to four.', 'Cape Otway', 'ben'),
      note('b7d2', 'Closed until the stairs are mended.', 'Cape Otway, Victoria', 'carla'),
      note('a4e6', 'Open on Sundays.', 'Cape Otway', 'ada'),
    ],
  });
}

async function fillFrom(ask, name) {
  const lines = readFileSync(join(root, 'dist/demo/data', `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n');
  for (let start = 0; start < lines.length; start += BATCH) {
    await ask('POST', `${name}/_bulk_docs`, `{"docs":[${lines.slice(start, start + BATCH).join(',')}]}`);
  }
}

/** A replication has the rights of the user who is named in its addresses. */
function withRights() {
  return { user_ctx: { name: admin.name, roles: ['_admin'] } };
}

function askerOf(server) {
  const authorization = `Basic ${Buffer.from(`${admin.name}:${admin.password}`).toString('base64')}`;
  return async (method, path, body) => {
    const answer = await fetch(new URL(path, server), {
      method,
      headers: { authorization, 'content-type': 'application/json' },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} /${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
}
