/** SQLite in WebAssembly, in a worker, with its VFS opfs-sahpool, which needs no headers of the page: what the page calls. */

export function openSqlite(journal) {
  return async (name, { strict = false } = {}) => {
    const worker = new Worker(new URL('./sqlite-worker.mjs', import.meta.url), { type: 'module' });
    const call = callsTo(worker);
    await call('open', name, journal, strict);
    return {
      put: ({ id, ...fields }) => call('put', id, JSON.stringify(fields)),
      update: ({ id, ...fields }) => call('update', id, JSON.stringify(fields)),
      get: async (id) => JSON.parse(await call('get', id)),
      putMany: (documents) =>
        call(
          'putMany',
          documents.map(({ id, ...fields }) => [id, JSON.stringify(fields)]),
        ),
      index: () => call('index'),
      find: async (from, below) => (await call('find', from, below)).map((text) => JSON.parse(text)),
      sum: (from, below) => call('sum', from, below),
      async remove() {
        await call('remove');
        worker.terminate();
      },
    };
  };
}

/** Functions of a worker, by messages; several may be on their way at once. */
function callsTo(worker) {
  const waiting = new Map();
  let made = 0;
  worker.onmessage = ({ data: { call, result, failure } }) => {
    const { resolve, reject } = waiting.get(call);
    waiting.delete(call);
    if (failure === undefined) resolve(result);
    else reject(new Error(failure));
  };
  worker.onerror = ({ message }) => {
    for (const { reject } of waiting.values()) reject(new Error(message));
  };
  return (name, ...values) =>
    new Promise((resolve, reject) => {
      made += 1;
      waiting.set(made, { resolve, reject });
      worker.postMessage({ call: made, name, values });
    });
}
