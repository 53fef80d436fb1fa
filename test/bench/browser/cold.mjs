/** Reads by a core that has just begun, whose cache is empty, beside a database of PouchDB that was just opened. */
import { draw } from '../documents.mjs';
import { interleave } from '../figures.mjs';
import { each, idOf, send } from './measuring.mjs';
import { filled, newPouchDB } from './with-pouchdb.mjs';

export async function coldReads(bench) {
  await bench.start();
  const documents = bench.size(10_000, 2_000);
  const count = bench.size(100, 50);
  const { path, databases, remove } = await filled(bench, documents, 'cold');
  const names = { idb: databases.idb.name, indexeddb: databases.indexeddb.name };
  const idAt = (index) => idOf(draw(index, documents));
  const our = async () => {
    await bench.settee.close();
    await bench.start();
    await send(bench.settee.fetch, 'GET', path);
    return each(count, 1, (index) => send(bench.settee.fetch, 'GET', `${path}/${idAt(index)}`));
  };
  const their = async (adapter) => {
    const database = newPouchDB(adapter, names[adapter]);
    await database.info();
    const ms = await each(count, 1, (index) => database.get(idAt(index)));
    await database.close();
    return ms;
  };
  const ms = await interleave(bench.size(21, 2), {
    coldDirect: our,
    coldIdb: () => their('idb'),
    coldIndexeddb: () => their('indexeddb'),
  });
  await send(bench.settee.fetch, 'DELETE', path);
  await remove().catch(() => undefined);
  await bench.settee.close();
  return ms;
}
