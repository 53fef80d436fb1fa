import { describe, expect, test } from 'vitest';
import { useBrowserSession } from './browser-session.ts';
import { type Beside, call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { emitting, endless, openStrangeDatabase } from './strange-database.ts';

/**
 * Functions come with documents from strangers, and run in workers of their own: whatever one does, the documents of other databases are
 * read as before.
 */

/** Milliseconds. On a busy machine quiet reads are slow, too. */
const limits = { medianBeyondQuiet: 5, longest: 100 };
const BUSY_FACTOR = 2;
const QUIET_MS = 400;
/** The first call loads the engine, and a machine that does other work may be late. A function that holds the thread does so every time. */
const ATTEMPTS = 4;

describe.each(chosenEngines())('functions of documents in %s', (engine) => {
  const session = useBrowserSession(engine);

  const attacks: readonly (readonly [string, object, Beside])[] = [
    ['a map', { views: { v: { map: `function () { ${endless} }` } } }, ['GET', '/db/strange/_design/d/_view/v']],
    [
      'a reduce',
      { views: { v: { map: emitting, reduce: `function () { ${endless} }` } } },
      ['GET', '/db/strange/_design/d/_view/v'],
    ],
    ['a show', { shows: { s: `function () { ${endless} }` } }, ['GET', '/db/strange/_design/d/_show/s']],
    [
      'a validator',
      { validate_doc_update: `function (doc) { if (doc.bad) { ${endless} } }` },
      ['PUT', '/db/strange/x', { bad: true }],
    ],
  ];

  test.for(attacks)("%s without end doesn't delay other requests", async ([, design, beside]) => {
    const tab = await openStrangeDatabase(await session.openSite(), design);
    let seen = '';
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const quiet = await measure(tab, QUIET_MS);
      const { answer, ...disturbed } = await measure(tab, beside);
      expect(answer).toMatchObject({ status: 500, json: { error: 'os_process_error' } });
      seen = `${show(disturbed)} (quiet: ${show(quiet)})`;
      console.info(`${engine}: ${seen}`);
      const isUndisturbed =
        disturbed.longest <= Math.max(limits.longest, BUSY_FACTOR * quiet.longest) &&
        disturbed.median <= BUSY_FACTOR * quiet.median + limits.medianBeyondQuiet;
      if (isUndisturbed) return;
    }
    expect.fail(`a reader was held up: ${seen}`);
  });
});

interface Latencies {
  readonly median: number;
  readonly longest: number;
  readonly count: number;
}

async function measure(tab: Tab, beside: Beside | number) {
  const { latencies, answer } = await call(tab, 'readBeside', 'settee', '/db/neighbour/doc', beside);
  const sorted = latencies.toSorted((one, other) => one - other);
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return { median, longest: sorted.at(-1) ?? 0, count: sorted.length, answer };
}

function show({ median, longest, count }: Latencies): string {
  return `median ${median.toFixed(1)} ms, longest ${longest.toFixed(1)} ms of ${count}`;
}
