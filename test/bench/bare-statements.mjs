import pg from 'pg';
import { documentText, idKinds } from './documents.mjs';
import { BATCH } from './workload.mjs';

/** What PostgreSQL alone takes for documents in a table: the least that each piece of work costs on that server, at that distance. */
export class BareStatements {
  #pool;
  #schema;

  /** `connections`: as many as Settee has. */
  static async open(url, schema, connections = 10) {
    const bare = new BareStatements();
    bare.#schema = schema;
    // As Settee's writes, which survive the end of the process, and not yet a power cut.
    const options = '-c synchronous_commit=off';
    bare.#pool = new pg.Pool({ connectionString: url, max: connections, options });
    await bare.#pool.query(`CREATE SCHEMA ${schema}`);
    await bare.#pool.query(`CREATE TABLE ${schema}.documents (id text PRIMARY KEY, body text NOT NULL)`);
    return bare;
  }

  async close() {
    await this.#pool.query(`DROP SCHEMA ${this.#schema} CASCADE`);
    await this.#pool.end();
  }

  /** Writes documents `from` to below `to`, `parallel` at a time. Gives milliseconds. */
  put(from, to, parallel = 1) {
    const text = `INSERT INTO ${this.#schema}.documents VALUES ($1, $2)`;
    return this.#each(from, to, parallel, 1, (index) => this.#run('put', text, documentAt(index)));
  }

  /** The same, a batch in a statement, two at a time. */
  bulk(from, to) {
    const text = `INSERT INTO ${this.#schema}.documents SELECT * FROM unnest($1::text[], $2::text[])`;
    return this.#each(from, to, 2, BATCH, (start) => {
      const rows = Array.from({ length: Math.min(BATCH, to - start) }, (_, at) => documentAt(start + at));
      return this.#run('bulk', text, [rows.map(([id]) => id), rows.map(([, body]) => body)]);
    });
  }

  /** Reads documents one after another. Gives milliseconds. */
  get(indexes) {
    const text = `SELECT body FROM ${this.#schema}.documents WHERE id = $1`;
    return this.#each(0, indexes.length, 1, 1, (at) => this.#run('get', text, [idOf(indexes[at])]));
  }

  /** Reads all documents in their order, a batch in a statement. Gives their number. */
  async scan() {
    const text = `SELECT id, body FROM ${this.#schema}.documents WHERE id > $1 ORDER BY id LIMIT ${BATCH}`;
    for (let last = '', count = 0; ; ) {
      const { rows } = await this.#run('scan', text, [last]);
      count += rows.length;
      if (rows.length < BATCH) return count;
      last = rows.at(-1).id;
    }
  }

  #run(name, text, values) {
    return this.#pool.query({ name, text, values });
  }

  async #each(from, to, parallel, step, run) {
    const startedAt = performance.now();
    let next = from;
    const work = async () => {
      while (next < to) {
        const index = next;
        next += step;
        await run(index);
      }
    };
    await Promise.all(Array.from({ length: parallel }, work));
    return performance.now() - startedAt;
  }
}

const idOf = (index) => idKinds.sequential(index);

function documentAt(index) {
  const id = idOf(index);
  return [id, documentText(index, id)];
}
