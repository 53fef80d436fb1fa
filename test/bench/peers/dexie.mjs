/** Dexie: IndexedDB, from the page itself. */
import { Dexie } from 'dexie';

export async function open(name, { strict = false } = {}) {
  const options = strict ? { chromeTransactionDurability: 'strict' } : {};
  let database = new Dexie(name, options);
  database.version(1).stores({ docs: 'id' });
  await database.open();
  return {
    put: (document) => database.docs.add(document),
    update: (document) => database.docs.put(document),
    get: (id) => database.docs.get(id),
    putMany: (documents) => database.docs.bulkAdd(documents),
    /** An index that comes later is another version of the database, which has to be opened again. */
    async index() {
      database.close();
      database = new Dexie(name, options);
      database.version(2).stores({ docs: 'id,born' });
      await database.open();
    },
    find: (from, below) => database.docs.where('born').between(from, below).toArray(),
    async sum(from, below) {
      const documents = await database.docs.where('born').between(from, below).toArray();
      return documents.reduce((total, { balance }) => total + balance, 0);
    },
    remove: () => database.delete(),
  };
}
