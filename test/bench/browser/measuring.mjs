/** How the bench page measures. */
import { documentText, idKinds } from '../documents.mjs';

export const idOf = idKinds.sequential;

export function documentAt(index) {
  return JSON.parse(documentText(index, idOf(index)));
}

export function documentsFrom(from, count) {
  return Array.from({ length: count }, (_, index) => documentAt(from + index));
}

export function milliseconds(work) {
  const began = performance.now();
  return work().then(() => performance.now() - began);
}

/** Calls `work` with every number below `count`, `parallel` at a time; gives the milliseconds for each. */
export async function each(count, parallel, work) {
  let next = 0;
  const client = async () => {
    while (next < count) await work(next++);
  };
  const ms = await milliseconds(() => Promise.all(Array.from({ length: parallel }, client)));
  return ms / count;
}

export async function send(fetch, method, path, body) {
  const answer = await fetch(path, {
    method,
    ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
  });
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

export const plainFetch = (...request) => fetch(...request);
