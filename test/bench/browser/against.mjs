/**
 * This build beside that of another commit: in each generation each of them has a fresh browser and profile, this one two. What this build
 * differs from itself is the noise.
 */
import { dirname } from 'node:path';
import { BUILDS, inTurn, isLoss, noiseOf, ratioOf, short, toLines } from '../against/ratios.mjs';
import { median } from '../figures.mjs';
import { launch } from './launch.mjs';
import { startServer } from './server.mjs';

const ROWS = {
  cold: 'start to first document, new browser',
  newOrigin: 'the same, new origin, from its navigation',
  secondVisit: 'the same, later visits',
  create: 'PUT, new, one by one',
  update: 'PUT, update, one by one',
  create50: 'PUT, new, 50 at a time',
  bulk: '_bulk_docs of 1000',
  read: 'GET, one by one',
  read50: 'GET, 50 at a time',
  allDocs: '_all_docs with documents',
  firstQuery: 'first query of a view, 25,600 documents',
  secondIndex: 'first query of another view',
  reduce: 'sum by group',
  afterUpdate: 'query after one update',
};

/** `folders`: of the files for browsers, by build: `former` and `current`. Gives the table, and whether there is a loss. */
export async function compareInBrowser({ engine, folders, generations, isQuick }) {
  const measured = Object.fromEntries(BUILDS.map((build) => [build, []]));
  for (let generation = 0; generation < generations; generation += 1) {
    process.stderr.write(`generation ${generation + 1} of ${generations} …\n`);
    for (const build of inTurn(generation)) {
      const folder = build === 'former' ? folders.former : folders.current;
      measured[build].push(await measureIn(engine, folder, isQuick));
    }
  }
  const rows = Object.entries(ROWS).map(([key, name]) => {
    const values = Object.fromEntries(BUILDS.map((build) => [build, measured[build].map((found) => found[key])]));
    const both = median([...values.current, ...values.twin]);
    const [ratio, noise] = [ratioOf(values), noiseOf(values)];
    const times = `${short(median(values.former))} → ${short(both)}`;
    return [name, times, `${ratio.toFixed(2)} ± ${noise.toFixed(2)}`, isLoss(ratio, noise) ? 'SLOWER' : ''];
  });
  return { table: toLines(['', 'ms', 'ratio', ''], rows), hasLoss: rows.some(([, , , loss]) => loss !== '') };
}

async function measureIn(engine, folder, isQuick) {
  const here = import.meta.dirname;
  const server = await startServer([folder, here, dirname(here)]);
  const browser = await launch(engine, `${server.origin}/against.html${isQuick ? '?quick' : ''}`);
  try {
    return await server.results;
  } finally {
    await browser.close();
    server.close();
  }
}
