/**
 * What `_bulk_docs` costs at least: JSON.parse of the request, JSON.stringify and MD5 (hash-wasm, which is what Settee
 * itself uses; `node:crypto` for comparison) of every document in it.
 */
import { createHash } from 'node:crypto';
import { createMD5 } from 'hash-wasm';
import { bulkBodies, idKinds } from '../documents.mjs';
import { answerCalls } from '../processes.mjs';

const hasher = await createMD5();
const hashes = {
  'hash-wasm': (text) => hasher.init().update(text).digest('hex'),
  'node:crypto': (text) => createHash('md5').update(text).digest('hex'),
};
let bodies = [];

answerCalls({
  prepare(kind, count) {
    bodies = bulkBodies(idKinds[kind], { from: 0, to: count });
  },
  /** Milliseconds for all of them. */
  measure(hashName) {
    const hash = hashes[hashName];
    const startedAt = performance.now();
    let digits = 0;
    for (const body of bodies)
      for (const document of JSON.parse(body).docs) digits += hash(JSON.stringify(document)).length;
    const ms = performance.now() - startedAt;
    if (digits === 0) throw new Error('nothing was hashed');
    return ms;
  },
});
