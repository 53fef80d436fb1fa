/** An attachment in and out: a Blob is stored, and a Blob comes back, whose bytes are then read. */
import { interleave } from '../figures.mjs';
import { milliseconds, plainFetch, send } from './measuring.mjs';
import { newPouchDB } from './with-pouchdb.mjs';

const BYTES = 8 * 2 ** 20;
const TYPE = 'application/octet-stream';

export async function attachments(bench) {
  await bench.start();
  const path = `${bench.base}attachments`;
  await send(bench.settee.fetch, 'PUT', path);
  const databases = { idb: newPouchDB('idb'), indexeddb: newPouchDB('indexeddb') };
  const ways = { direct: bench.settee.fetch, through: plainFetch };
  const ourPut = (way, round) => {
    const body = newFile();
    return milliseconds(() => stored(ways[way](`${path}/${way}-${round}/file`, { method: 'PUT', body })));
  };
  const ourGet = (way, round) => milliseconds(async () => bytesOf(await ways[way](`${path}/${way}-${round}/file`)));
  const theirPut = (adapter, round) => {
    const file = newFile();
    return milliseconds(() => databases[adapter].putAttachment(`doc-${round}`, 'file', file, TYPE));
  };
  const theirGet = (adapter, round) =>
    milliseconds(async () => bytesOf(await databases[adapter].getAttachment(`doc-${round}`, 'file')));
  const ms = await interleave(bench.size(9, 3), {
    attPutDirect: (round) => ourPut('direct', round),
    attPutThrough: (round) => ourPut('through', round),
    attPutIdb: (round) => theirPut('idb', round),
    attPutIndexeddb: (round) => theirPut('indexeddb', round),
    attGetDirect: (round) => ourGet('direct', round),
    attGetThrough: (round) => ourGet('through', round),
    attGetIdb: (round) => theirGet('idb', round),
    attGetIndexeddb: (round) => theirGet('indexeddb', round),
  });
  await send(bench.settee.fetch, 'DELETE', path);
  for (const database of Object.values(databases)) await database.destroy();
  await bench.settee.close();
  return ms;
}

/** No two are the same. */
function newFile() {
  const bytes = new Uint8Array(BYTES);
  for (let at = 0; at < BYTES; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return new Blob([bytes], { type: TYPE });
}

async function stored(answering) {
  const answer = await answering;
  if (answer.status !== 201)
    throw new Error(`an attachment was answered with ${answer.status}: ${await answer.text()}`);
}

async function bytesOf(content) {
  const { byteLength } = await content.arrayBuffer();
  if (byteLength !== BYTES) throw new Error(`${byteLength} bytes came back`);
}
