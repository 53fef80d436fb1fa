import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { suites } from '../conformance/http/all.ts';
import { chosenEngines } from './drivers/start.ts';
import { caseName, type SuiteOutcome } from './outcome.ts';
import { collectOutcome, openScene, type Scene } from './scene.ts';

/** The ways to the core that a browser has, and the page that runs the suite through each. */
const ways = [
  { way: 'fetch through the service worker', page: 'http-suite', parameters: { through: 'fetch' } },
  { way: 'settee.fetch', page: 'http-suite', parameters: { through: 'settee' } },
  { way: 'the core in a worker', page: 'worker-suite', parameters: { worker: 'core-suite' } },
] as const;

describe.each(chosenEngines())('HTTP suite in %s', (engine) => {
  describe.each(ways)('$way', ({ way, page, parameters }) => {
    let scene: Scene;
    let outcome: SuiteOutcome;

    beforeAll(async () => {
      scene = await openScene(engine);
      const tab = await (await scene.openSite()).open(page, parameters);
      outcome = await collectOutcome(tab, scene.browser);
    }, 600_000);
    afterAll(async () => {
      await scene?.close();
      if (outcome === undefined) return;
      const skipped = outcome.skipped.map(({ name, reason }) => `\n  ${name} (${reason})`);
      console.info(`${engine}, ${way}: ${skipped.length} skipped${skipped.join('')}`);
    });

    for (const suite of suites) {
      for (const { name } of suite.cases) {
        const key = caseName(suite.name, name);
        test(key, ({ skip }) => {
          const reason = outcome.skipped.find((each) => each.name === key)?.reason;
          if (reason !== undefined) skip(reason);
          expect(outcome.failed.find((each) => each.name === key)?.message).toBeUndefined();
          expect(outcome.passed).toContain(key);
        });
      }
    }
  });
});
