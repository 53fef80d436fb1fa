/** PGlite: what is asked of either of its storages. */

export async function storeIn(database, remove) {
  await database.exec('CREATE TABLE IF NOT EXISTS docs (id text PRIMARY KEY, body jsonb NOT NULL)');
  const rows = async (text, values) => (await database.query(text, values)).rows;
  const insert = 'INSERT INTO docs SELECT entry ->> 0, entry -> 1 FROM jsonb_array_elements($1::jsonb) AS entry';
  const inRange = "(body -> 'born')::int >= $1 AND (body -> 'born')::int < $2";
  return {
    put: ({ id, ...fields }) => rows('INSERT INTO docs VALUES ($1, $2)', [id, fields]),
    update: ({ id, ...fields }) => rows('UPDATE docs SET body = $2 WHERE id = $1', [id, fields]),
    get: async (id) => (await rows('SELECT body FROM docs WHERE id = $1', [id]))[0].body,
    putMany: (documents) => rows(insert, [documents.map(({ id, ...fields }) => [id, fields])]),
    index: () => database.exec("CREATE INDEX born ON docs (((body -> 'born')::int))"),
    find: async (from, below) => (await rows(`SELECT body FROM docs WHERE ${inRange}`, [from, below])).map(toBody),
    async sum(from, below) {
      const text = `SELECT sum((body -> 'balance')::float8) AS total FROM docs WHERE ${inRange}`;
      const [{ total }] = await rows(text, [from, below]);
      return total;
    },
    remove,
  };
}

function toBody({ body }) {
  return body;
}
