/**
 * The documents that the benchmark writes: about 330 bytes each, as a small shop would keep them. Everything follows
 * from an index, so any process can make the same documents, or any one of them, without keeping the others.
 */
const givenNames = [
  'Ada',
  'Björn',
  'Chiara',
  'Dmitri',
  'Elif',
  'Femi',
  'Grace',
  'Hiro',
  'Ines',
  'Jürgen',
  'Kavya',
  'Liam',
];
const familyNames = ['Andersen', 'Brandão', 'Castillo', 'Dubois', 'Eriksson', 'Fischer', 'García', 'Hughes', 'Ivanova'];
const streets = ['Birch Lane', 'Rue de la Gare', 'Hauptstraße', 'Via Roma', 'Calle Mayor', 'King Street', 'Storgatan'];
const cities = ['Uppsala', 'Lyon', 'Bremen', 'Torino', 'Sevilla', 'Leeds', 'Göteborg', 'Porto', 'Gdańsk', 'Tampere'];
const tags = ['new', 'regular', 'wholesale', 'newsletter', 'overdue', 'abroad', 'pickup', 'invoice', 'vip', 'school'];

/** Mixes two numbers into 32 bits (the finaliser of MurmurHash3). */
function mix(value, salt) {
  let hash = Math.imul(value ^ (salt * 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  hash ^= hash >>> 16;
  hash = Math.imul(hash ^ (hash >>> 15), 0x27d4eb2f);
  return (hash ^ (hash >>> 14)) >>> 0;
}

/** `sequential`: ids in the order of writing. `random`: 32 hexadecimal digits, as uuids have. */
export const idKinds = {
  sequential: (index) => `customer-${String(index).padStart(9, '0')}`,
  random: (index) => hexDigits(index, 1) + hexDigits(index, 2) + hexDigits(index, 3) + hexDigits(index, 4),
};

function hexDigits(index, lane) {
  return mix(index, lane).toString(16).padStart(8, '0');
}

/** JSON text of document `index`. `version` changes its content, `rev` is the revision that it replaces. */
export function documentText(index, id, { rev, version = 0 } = {}) {
  const pick = (list, salt) => list[mix(index, salt + version) % list.length];
  const upTo = (limit, salt) => mix(index, salt + version) % limit;
  const given = pick(givenNames, 10);
  const family = pick(familyNames, 11);
  return JSON.stringify({
    _id: id,
    _rev: rev,
    type: 'customer',
    name: { given, family },
    email: `${given}.${family}.${index}@example.org`,
    born: 1930 + upTo(80, 12),
    balance: upTo(10_000_000, 13) / 100,
    tags: [pick(tags, 14), pick(tags, 15), pick(tags, 16)],
    address: {
      street: `${pick(streets, 17)} ${1 + upTo(200, 18)}`,
      city: pick(cities, 19),
      postcode: String(10_000 + upTo(90_000, 20)),
    },
    orders: [upTo(1_000_000, 21), upTo(1_000_000, 22), upTo(1_000_000, 23), upTo(1_000_000, 24)],
    active: upTo(5, 25) > 0,
    version,
  });
}

/** Bodies for `_bulk_docs`: documents `from` to below `to`, `size` in each. */
export function bulkBodies(ids, { from, to, size = 1_000 }) {
  const bodies = [];
  for (let start = from; start < to; start += size) bodies.push(bulkBody(ids, start, Math.min(to, start + size)));
  return bodies;
}

export function bulkBody(ids, from, to) {
  const texts = [];
  for (let index = from; index < to; index++) texts.push(documentText(index, ids(index)));
  return `{"docs":[${texts.join()}]}`;
}

/** A number from 0 to below `limit` for each step, the same in every run. */
export function draw(step, limit, salt = 99) {
  return mix(step, salt) % limit;
}

/** The numbers from 0 to below `count` in an order that `salt` decides. */
export function shuffled(count, salt) {
  const order = Uint32Array.from({ length: count }, (_, index) => index);
  for (let last = count - 1; last > 0; last--) {
    const other = mix(last, salt) % (last + 1);
    [order[last], order[other]] = [order[other], order[last]];
  }
  return order;
}
