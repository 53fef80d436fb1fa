/** The views that the benchmarks build, of the documents of documents.mjs and of small ones with many rows each. */
import { idKinds } from './documents.mjs';

export const ROWS_PER_DOCUMENT = 20;

/** Two built-in reduces and one function. */
export const maps = [
  'function (doc) { emit(doc.address.city, null); }',
  'function (doc) { emit([doc.address.city, doc.name.family], doc.balance); }',
  'function (doc) { emit(doc.email, doc.balance); }',
];
export const views = {
  cities: { map: maps[0], reduce: '_count' },
  families: { map: maps[1], reduce: '_sum' },
  people: { map: maps[2], reduce: 'function (keys, values, rereduce) { return sum(values); }' },
};

/** Many rows of few documents: keys in no order, each once. */
export const manyRows = {
  map: `function (doc) {
    for (var row = 0; row < ${ROWS_PER_DOCUMENT}; row++) {
      var key = (doc.n * ${ROWS_PER_DOCUMENT} + row) * 7919 % doc.of;
      emit(key, key % 100);
    }
  }`,
  reduce: '_sum',
};

/** The documents of which `manyRows` makes `rows` rows, 1,000 at a time. */
export function* documentsOfRows(rows) {
  const documents = rows / ROWS_PER_DOCUMENT;
  for (let from = 0; from < documents; from += 1_000) {
    yield Array.from({ length: Math.min(1_000, documents - from) }, (_, index) => {
      return { _id: idKinds.sequential(from + index), n: from + index, of: rows };
    });
  }
}
