/** RxDB with its storage on Dexie, from the page itself. */
import { createRxDatabase } from 'rxdb/plugins/core';
import { getRxStorageDexie } from 'rxdb/plugins/storage-dexie';

/** With the index from the beginning: one that comes later is another version of the schema, for which the collection is copied. */
const schema = {
  version: 0,
  primaryKey: 'id',
  type: 'object',
  properties: {
    id: { type: 'string', maxLength: 64 },
    born: { type: 'integer', minimum: 0, maximum: 3000, multipleOf: 1 },
    type: { type: 'string' },
    name: { type: 'object' },
    email: { type: 'string' },
    balance: { type: 'number' },
    tags: { type: 'array' },
    address: { type: 'object' },
    orders: { type: 'array' },
    active: { type: 'boolean' },
    version: { type: 'integer' },
  },
  required: ['id', 'born'],
  indexes: ['born'],
};

export async function open(name, { strict = false } = {}) {
  const storage = getRxStorageDexie(strict ? { chromeTransactionDurability: 'strict' } : {});
  const database = await createRxDatabase({ name, storage, multiInstance: false });
  const { docs } = await database.addCollections({ docs: { schema } });
  const find = (from, below) => docs.find({ selector: { born: { $gte: from, $lt: below } } }).exec();
  return {
    put: (document) => docs.insert(document),
    update: ({ id, ...fields }, written) => written.patch(fields),
    async get(id) {
      const document = await docs.findOne(id).exec();
      return document.toJSON();
    },
    async putMany(documents) {
      const { error } = await docs.bulkInsert(documents);
      if (error.length > 0) throw new Error(`${error.length} documents were refused`);
    },
    async find(from, below) {
      const found = await find(from, below);
      return found.map((document) => document.toJSON());
    },
    async sum(from, below) {
      const found = await find(from, below);
      return found.reduce((total, { balance }) => total + balance, 0);
    },
    remove: () => database.remove(),
  };
}
