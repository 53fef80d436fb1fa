/** The worker that has the database. */
import sqlite3InitModule from '@sqlite.org/sqlite-wasm';

let pool;
let database;
let statements;

const SQL = {
  put: 'INSERT INTO docs (id, body) VALUES (?, ?)',
  update: 'UPDATE docs SET body = ?2 WHERE id = ?1',
  get: 'SELECT body FROM docs WHERE id = ?',
  find: "SELECT body FROM docs WHERE body ->> 'born' >= ? AND body ->> 'born' < ?",
  sum: "SELECT sum(body ->> 'balance') FROM docs WHERE body ->> 'born' >= ? AND body ->> 'born' < ?",
};

const functions = {
  async open(name, journal, strict) {
    const sqlite3 = await sqlite3InitModule();
    pool = await sqlite3.installOpfsSAHPoolVfs({ name: `pool-${name}`, directory: `/sqlite-${name}` });
    database = new pool.OpfsSAHPoolDb('/docs.sqlite');
    if (journal === 'wal') {
      // The memory that connections share is not to be had here, so that the one connection has the file for itself.
      database.exec('PRAGMA locking_mode = EXCLUSIVE');
      const mode = database.selectValue('PRAGMA journal_mode = WAL');
      if (mode !== 'wal') throw new Error(`The journal's mode is ${mode}`);
      database.exec(`PRAGMA synchronous = ${strict ? 'FULL' : 'NORMAL'}`);
    }
    database.exec('CREATE TABLE IF NOT EXISTS docs (id TEXT PRIMARY KEY, body TEXT NOT NULL) WITHOUT ROWID');
    statements = Object.fromEntries(Object.entries(SQL).map(([key, text]) => [key, database.prepare(text)]));
  },
  put: (id, body) => run('put', id, body),
  update: (id, body) => run('update', id, body),
  get: (id) => rows('get', id)[0],
  putMany(documents) {
    database.transaction(() => {
      for (const [id, body] of documents) run('put', id, body);
    });
  },
  index: () => void database.exec("CREATE INDEX born ON docs (body ->> 'born')"),
  find: (from, below) => rows('find', from, below),
  sum: (from, below) => rows('sum', from, below)[0],
  async remove() {
    for (const statement of Object.values(statements)) statement.finalize();
    database.close();
    await pool.removeVfs();
  },
};

function run(name, ...values) {
  statements[name].bind(values).stepReset();
}

function rows(name, ...values) {
  const statement = statements[name].bind(values);
  const found = [];
  while (statement.step()) found.push(statement.get(0));
  statement.reset();
  return found;
}

self.onmessage = async ({ data: { call, name, values } }) => {
  try {
    self.postMessage({ call, result: await functions[name](...values) });
  } catch (error) {
    self.postMessage({ call, failure: String(error?.stack ?? error) });
  }
};
