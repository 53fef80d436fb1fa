/** What a server like CouchDB 3 answers beside documents: about itself, its settings, its replications and its tasks. */
import type { Given } from './foreign-server.ts';
import type { Answer, MemoryDatabase } from './memory-database.ts';

const JOB = {
  database: '_replicator',
  id: 'c0ebe9256695ff083347cbf95f93e280+continuous',
  pid: '<0.1850.6>',
  source: 'http://adm:*****@127.0.0.1:5984/library/',
  target: 'https://peer.example.org/copy/',
  user: null,
  doc_id: 'to-peer',
  node: 'nonode@nohost',
  start_time: '2026-03-01T10:00:00Z',
  info: {
    revisions_checked: 113,
    missing_revisions_found: 113,
    docs_read: 113,
    docs_written: 112,
    changes_pending: 0,
    doc_write_failures: 1,
    bulk_get_attempts: 113,
    bulk_get_docs: 113,
    checkpointed_source_seq: '113-g1AAAACT',
    source_seq: '113-g1AAAACT',
    through_seq: '113-g1AAAACT',
  },
  history: [
    { timestamp: '2026-03-01T10:00:01Z', type: 'started' },
    { timestamp: '2026-03-01T10:00:00Z', type: 'added' },
  ],
};
/** Of a request: no document asks for it. */
const TRANSIENT = {
  ...JOB,
  id: 'aa0ebe9256695ff083347cbf95f93e28',
  database: null,
  doc_id: null,
  source: 'http://127.0.0.1:5984/library/',
  target: 'http://127.0.0.1:5984/backup/',
  info: { ...JOB.info, changes_pending: 7, doc_write_failures: 0 },
};
const CRASHING = {
  database: '_replicator',
  doc_id: 'lost',
  id: null,
  source: 'http://127.0.0.1:5984/nowhere/',
  target: 'https://peer.example.org/copy/',
  state: 'crashing',
  info: { error: 'db_not_found: could not open http://127.0.0.1:5984/nowhere/' },
  error_count: 4,
  start_time: '2026-03-01T10:00:00Z',
  last_updated: '2026-03-01T10:05:00Z',
  node: 'nonode@nohost',
};
const SETTINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  chttpd: { port: '5984', bind_address: '127.0.0.1' },
  couchdb: { max_document_size: '8000000', uuid: '0a959b9b8227188afc2ac26ccdf345a6' },
  admins: { adm: '-pbkdf2:sha256-9ab1,10' },
  log: { level: 'info' },
};

const FOR_ALL = new Set(['_up', '_uuids', '_session']);
const NO_ADMIN: Answer = { status: 401, json: { error: 'unauthorized', reason: 'You are not a server admin.' } };

export class CouchForms {
  readonly greeting = {
    couchdb: 'Welcome',
    version: '3.4.2',
    git_sha: '6e5ad2a5c',
    uuid: '9ddf59457dbb8772316cf06fc5e5a2e4',
    features: ['access-ready', 'partitioned', 'pluggable-storage-engines', 'reshard', 'scheduler'],
    vendor: { name: 'The Apache Software Foundation' },
  };
  readonly #databases: ReadonlyMap<string, MemoryDatabase>;
  readonly isAdmin: boolean;
  readonly #values = new Map(Object.entries(SETTINGS));

  constructor(databases: ReadonlyMap<string, MemoryDatabase>, isAdmin: boolean) {
    this.#databases = databases;
    this.isAdmin = isAdmin;
  }

  infoOf(name: string, documents: number, seq: number): object {
    return {
      instance_start_time: '1700000000',
      db_name: name,
      purge_seq: '0-g1AAAABXeJ',
      update_seq: `${seq}-g1AAAACLeJzLYWBgYMpgTmHgz8tPS`,
      sizes: { file: 91_344, external: 12_150, active: 40_022 },
      props: {},
      doc_del_count: 0,
      doc_count: documents,
      disk_format_version: 8,
      compact_running: false,
      cluster: { q: 2, n: 1, w: 1, r: 1 },
    };
  }

  /** Undefined: there is no such endpoint. */
  async answer(segments: readonly string[], given: Given): Promise<Answer | undefined> {
    const path = segments.join('/');
    if (!this.isAdmin && !FOR_ALL.has(path)) return NO_ADMIN;
    if (path.startsWith('_node/_local/_config')) return this.#settings(segments.slice(3), given);
    if (path === '_dbs_info' && given.method === 'POST') return this.#infos(Object(given.json).keys);
    const json = this.#fixed(path);
    return json === undefined ? undefined : { status: 200, json };
  }

  #fixed(path: string): unknown {
    const all: Readonly<Record<string, unknown>> = {
      _up: { status: 'ok', seeds: {} },
      _uuids: { uuids: ['6e1295ed6c29495e54cc05947f18c8af'] },
      _session: {
        ok: true,
        userCtx: this.isAdmin ? { name: 'adm', roles: ['_admin'] } : { name: null, roles: [] },
        info: { authentication_handlers: ['cookie', 'default'] },
      },
      '_scheduler/jobs': { total_rows: 2, offset: 0, jobs: [JOB, TRANSIENT] },
      '_scheduler/docs': { total_rows: 2, offset: 0, docs: [{ ...JOB, state: 'running', error_count: 0 }, CRASHING] },
      '_scheduler/docs/_replicator/to-peer': { ...JOB, state: 'running', error_count: 0 },
      '_scheduler/docs/_replicator/lost': CRASHING,
      [`_scheduler/jobs/${JOB.id}`]: JOB,
      [`_scheduler/jobs/${TRANSIENT.id}`]: TRANSIENT,
      _active_tasks: [
        {
          node: 'nonode@nohost',
          pid: '<0.622.0>',
          type: 'indexer',
          database: 'shards/00000000-7fffffff/library.1700000000',
          design_document: '_design/books',
          progress: 41,
          changes_done: 41,
          total_changes: 100,
          started_on: 1_772_359_200,
          updated_on: 1_772_359_230,
        },
      ],
      '_node/_local/_stats': {
        couchdb: {
          httpd: { requests: { value: 421, type: 'counter', desc: 'number of HTTP requests' } },
          database_reads: { value: 77, type: 'counter', desc: 'number of times a document was read' },
          request_time: {
            value: { min: 0.3, max: 12.5, arithmetic_mean: 1.5, percentile: [[50, 1]], n: 421 },
            type: 'histogram',
            desc: 'length of a request inside CouchDB',
          },
        },
      },
      _membership: { all_nodes: ['nonode@nohost'], cluster_nodes: ['nonode@nohost'] },
    };
    return all[path];
  }

  #settings([section, key]: readonly string[], { method, json }: Given): Answer {
    if (section === undefined) return { status: 200, json: Object.fromEntries(this.#values) };
    const values = this.#values.get(section) ?? {};
    if (key === undefined) return { status: 200, json: values };
    if (method === 'PUT') this.#values.set(section, { ...values, [key]: `${json}` });
    return { status: 200, json: values[key] ?? '' };
  }

  async #infos(keys: readonly string[]): Promise<Answer> {
    const rows = await Promise.all(
      keys.map(async (key) => {
        const { documents, seq } = (await this.#databases.get(key)?.info()) ?? { documents: 0, seq: 0 };
        return { key, info: this.infoOf(key, documents, seq) };
      }),
    );
    return { status: 200, json: rows };
  }

  /** What it answers of a database beside documents; undefined: as any server. */
  async answerOf(segments: readonly string[], { method, json }: Given): Promise<Answer | undefined> {
    const [name = '', ...rest] = segments;
    if (!this.#databases.has(name)) return undefined;
    const path = rest.join('/');
    if (path === '_index' && method === 'GET') {
      return {
        status: 200,
        json: {
          total_rows: 1,
          indexes: [{ ddoc: null, name: '_all_docs', type: 'special', def: { fields: [{ _id: 'asc' }] } }],
        },
      };
    }
    if (path === '_security' && method === 'GET') return { status: 200, json: {} };
    if (path === '_find') return this.#found(name, Object(json));
    if (path === '_explain') return { status: 400, json: { error: 'bad_request', reason: 'invalid UTF-8 JSON' } };
    if (/^_design\/[^/]+\/_info$/.test(path)) {
      const view_index = {
        updates_pending: { minimum: 0, preferred: 0, total: 0 },
        waiting_commit: false,
        waiting_clients: 0,
        updater_running: false,
        update_seq: 0,
        sizes: { file: 12_500, external: 300, active: 4_100 },
        signature: '0a1b2c3d4e5f60718293a4b5c6d7e8f9',
        purge_seq: 0,
        language: 'javascript',
        compact_running: false,
      };
      return { status: 200, json: { name: rest[1], view_index } };
    }
    return undefined;
  }

  /** Every document: enough for a page that shows what it finds. */
  async #found(name: string, { limit = 25 }: { readonly limit?: number }): Promise<Answer> {
    const answer = await this.#databases.get(name)?.answer({
      ...{ method: 'GET', segments: ['_all_docs'], query: { include_docs: true, limit }, json: undefined },
      ...{ body: new Uint8Array(), type: '' },
    });
    const docs = Object(answer?.json).rows.map(({ doc }: { readonly doc: unknown }) => doc);
    const warning = 'No matching index found, create an index to optimize query time.';
    return { status: 200, json: { docs, bookmark: 'g1AAAAB', warning } };
  }
}
