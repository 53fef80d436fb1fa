import 'fake-indexeddb/auto';
import { forceCloseDatabase, IDBFactory } from 'fake-indexeddb';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { isDatabaseError } from '../../../../src/base/errors/database-error.ts';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createInstance } from '../../../../src/browser/bridge/instance.ts';
import { CoreSupervisor } from '../../../../src/browser/worker/core-supervisor.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { toText } from './origin.ts';

/**
 * A core on IndexedDB as a worker keeps it, on a database that was opened anew, so that most of what is asked for has to be read. Reads and
 * writes run side by side, once for each of their transactions with a fault in that one. Whatever is answered must be
 * true: what was acknowledged is there, once; what was not is there once or not at all.
 */
const OLD = 800;
const instance = createInstance('/db/', 'https://app.example');

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it is the test.
  readonly json: any;
}

/** A write, and how many documents have its mark if it was carried out. */
interface Write {
  readonly mark: number;
  readonly status: number;
  readonly documents: number;
}

interface Fault {
  readonly mode: IDBTransactionMode;
  readonly at: number;
  readonly strike: (transaction: IDBTransaction) => void;
}

let factory: IDBFactory;
let supervisor: CoreSupervisor;
let fault: Fault | undefined;
let transactions: number;
let marks: number;

beforeEach(() => {
  const { transaction } = IDBDatabase.prototype;
  vi.spyOn(IDBDatabase.prototype, 'transaction').mockImplementation(function transaction_(
    this: IDBDatabase,
    ...parameters
  ) {
    const made = transaction.apply(this, parameters);
    if (made.mode === fault?.mode && ++transactions === fault.at) fault.strike(made);
    return made;
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

function openSupervisor(): CoreSupervisor {
  const isStillOwner = async () => true;
  const host = { clock: systemClock, random: systemRandom, log: silentLog, indexedDB: factory };
  return new CoreSupervisor({ instance, ...host, deferred: deferredAtHand(), isStillOwner });
}

async function ask(method: string, path: string, body?: unknown): Promise<Answer> {
  const text = body === undefined ? null : JSON.stringify(body);
  const headers = { 'content-type': 'application/json' };
  const response = await supervisor.handle({ method, url: instance.base + path, headers, body: text });
  return { status: response.status, json: JSON.parse(await toText(response.body)) };
}

async function prepare(): Promise<void> {
  factory = new IDBFactory();
  fault = undefined;
  supervisor = openSupervisor();
  await ask('PUT', 'notes');
  const docs = Array.from({ length: OLD }, (_, n) => ({ _id: `old-${n}`, text: 'x'.repeat(100) }));
  await ask('POST', 'notes/_bulk_docs', { docs });
  await supervisor.close();
  supervisor = openSupervisor();
  await supervisor.open();
}

async function write(method: string, path: string, bodyOf: (mark: number) => unknown, documents = 1): Promise<Write> {
  const mark = ++marks;
  const { status, json } = await ask(method, path, bodyOf(mark));
  // All of them are in order, so none is ever refused but for the fault.
  if (status !== 201) expect(status, JSON.stringify(json)).toBeGreaterThanOrEqual(500);
  return { mark, status, documents };
}

/** Undefined where the document could not be read. */
async function change(id: string): Promise<Write | undefined> {
  const { status, json } = await ask('GET', `notes/${id}`);
  if (status === 200) return write('PUT', `notes/${id}`, (mark) => ({ _rev: json._rev, mark }));
  expect(status, JSON.stringify(json)).toBeGreaterThanOrEqual(500);
  return undefined;
}

async function work(): Promise<readonly Write[]> {
  const large = 'x'.repeat(80_000);
  const writes = await Promise.all([
    ...Array.from({ length: 3 }, () => write('POST', 'notes', (mark) => ({ mark }))),
    write('PUT', 'notes/new', (mark) => ({ mark })),
    ...[0, 300, 600].map((n) => change(`old-${n}`)),
    write('POST', 'notes/_bulk_docs', (mark) => ({ docs: [{ mark }, { mark, large }] }), 2),
  ]);
  try {
    const { status } = await ask('GET', 'notes/_all_docs?include_docs=true');
    if (status !== 200) expect(status).toBeGreaterThanOrEqual(500);
  } catch (error) {
    // On a busy machine the list is sent in parts: one that has begun breaks off.
    if (!isDatabaseError(error)) throw error;
  }
  return writes.filter((one) => one !== undefined);
}

async function check(writes: readonly Write[], when: string): Promise<void> {
  const { status, json } = await ask('GET', 'notes/_all_docs?include_docs=true');
  expect(status, when).toBe(200);
  const found: (number | undefined)[] = json.rows.map(({ doc }: { doc: { mark?: number } }) => doc.mark);
  for (const { mark, status: answered, documents } of writes) {
    const count = found.filter((one) => one === mark).length;
    const allowed = answered === 201 ? [documents] : [0, documents];
    expect(allowed, `${when}: a write that was answered ${answered} is there ${count} times`).toContain(count);
  }
}

/** Gives how many transactions there were. */
async function workWith(strike: Fault['strike'], mode: IDBTransactionMode, at: number): Promise<number> {
  await prepare();
  transactions = 0;
  marks = 0;
  fault = { mode, at, strike };
  const writes = await work();
  const made = transactions;
  fault = undefined;
  const when = `a fault at transaction ${at} (${mode})`;
  await check(writes, when);
  // On a busy machine the loss of a connection that only upkeep used may be noticed no earlier than here.
  await supervisor.close().catch((error: unknown) => {
    if (!isDatabaseError(error, 'storage_closed')) throw error;
  });
  supervisor = openSupervisor();
  await check(writes, `${when}, after a restart`);
  await supervisor.close();
  return made;
}

/** As when site data is cleared, or the disk fails: what is under way is aborted. */
function loseConnection({ db }: IDBTransaction): void {
  queueMicrotask(() => Reflect.apply(forceCloseDatabase, undefined, [db]));
}

function failAs(name: string): Fault['strike'] {
  return (transaction) => queueMicrotask(() => Reflect.get(transaction, '_abort').call(transaction, name));
}

describe.each([
  ['the connection is lost', loseConnection],
  ['it fails', failAs('UnknownError')],
  ['there is no space', failAs('QuotaExceededError')],
] as const)('where %s, nothing is lost or carried out twice', (_, strike) => {
  test.each(['readonly', 'readwrite'] as const)('in any transaction that is %s', async (mode) => {
    const count = await workWith(strike, mode, 0);
    expect(count).toBeGreaterThan(1);
    for (let at = 1; at <= count; at++) await workWith(strike, mode, at);
  });
});

test.each(['GET', 'HEAD'])(
  'a %s that meets the lost connection is sent once more, and fails with the reason if it comes too late',
  async (method) => {
    await prepare();
    const read = (path: string) => supervisor.handle({ method, url: instance.base + path, headers: {}, body: null });
    await ask('GET', 'notes');
    vi.mocked(IDBDatabase.prototype.transaction).mockImplementationOnce(() => {
      throw new DOMException('The connection is closing', 'InvalidStateError');
    });
    expect((await read('notes/old-1')).status).toBe(200);
    const closed = supervisor.close();
    expect((await read('notes/old-1')).errorCode).toBe('shutting_down');
    await closed;
    expect((await read('notes/old-1')).errorCode).toBe('shutting_down');
  },
);

/** Opens the database's file beside the core. What it gives holds up all who want to read pages, until what that gives is called. */
async function openBeside(): Promise<() => () => void> {
  const databases = await factory.databases();
  const name = databases.map((database) => database.name ?? '').find((one) => one.includes('|notes.'));
  const opening = factory.open(name ?? '');
  await new Promise((resolve) => opening.addEventListener('success', resolve));
  return () => {
    const pages = opening.result.transaction('pages', 'readwrite').objectStore('pages');
    let isHeld = true;
    const goOn = (): void => {
      if (isHeld) pages.get(0).onsuccess = goOn;
    };
    goOn();
    return () => {
      isHeld = false;
    };
  };
}

test("a stored write is carried out once, even if the trees it needs can't be read again", async () => {
  await prepare();
  await ask('GET', 'notes');
  const holdUpReads = await openBeside();
  const { add } = IDBObjectStore.prototype;
  vi.spyOn(IDBObjectStore.prototype, 'add').mockImplementationOnce(function add_(this: IDBObjectStore, ...parameters) {
    const letGo = holdUpReads();
    this.transaction.addEventListener('complete', () => {
      loseConnection(this.transaction);
      letGo();
    });
    return add.apply(this, parameters);
  });
  marks = 0;
  const done = await write('POST', 'notes', (mark) => ({ mark }));
  expect(done.status).toBe(201);
  await check([done], 'after the loss');
  await supervisor.close();
});

test('a write that was stored when the connection was lost, before its acknowledgement, is not sent again', async () => {
  await prepare();
  await ask('PUT', 'notes/first', {});
  transactions = 0;
  fault = { mode: 'readwrite', at: 1, strike: completeUntold };
  const { status, json } = await ask('PUT', 'notes/new', { n: 1 });
  fault = undefined;
  expect([status, json.error]).toEqual([503, 'service_unavailable']);
  expect(json.reason).toContain('may have been carried out or not; read before you write again');
  expect(await ask('GET', 'notes/new')).toMatchObject({ status: 200, json: { n: 1 } });
  expect((await ask('PUT', 'notes/other', {})).status).toBe(201);
  await supervisor.close();
});

/** The transaction is carried out, and all that is heard of it is that it went down with its connection. */
function completeUntold(transaction: IDBTransaction): void {
  transaction.addEventListener('complete', () => {
    transaction.onabort?.(new Event('abort'));
    Reflect.apply(forceCloseDatabase, undefined, [transaction.db]);
  });
  Object.defineProperty(transaction, 'oncomplete', { set: () => undefined });
}
