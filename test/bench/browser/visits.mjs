/**
 * How soon the first answer comes in a page that was never here, and in one that was: each visit is a frame on an origin of its own, whose
 * storage and cache are empty. Counted from the beginning of the frame's navigation. Interleaved with what a bare worker, a bare service worker
 * and PouchDB need for the same.
 */
import { interleave } from '../figures.mjs';
import { visit } from './visit.mjs';

const WAYS = ['direct', 'plain', 'write', 'worker', 'serviceWorker', 'pouchdb'];

export async function visits(bench) {
  const second = Object.fromEntries(WAYS.map((way) => [way, []]));
  const measurements = WAYS.map((way) => [
    way,
    async () => {
      const origin = await (await fetch('/new-origin', { method: 'POST' })).text();
      const page = `${origin}/constant/visit.html?${way}`;
      const first = await visit(page);
      second[way].push(await visit(page));
      await bench.tell(`  ${way}: ${first.toFixed(0)} ms, then ${second[way].at(-1).toFixed(0)} ms`);
      return first;
    },
  ]);
  const rounds = bench.size(15, 3);
  const first = await interleave(rounds, Object.fromEntries(measurements));
  // The first round warms up, as it does in interleave.
  const medians = WAYS.map((way) => [`second_${way}`, middle(second[way].slice(1))]);
  return {
    visits: rounds,
    ...Object.fromEntries(WAYS.map((way) => [`first_${way}`, first[way]])),
    ...Object.fromEntries(medians),
  };
}

function middle(values) {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)];
}
