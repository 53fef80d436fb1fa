import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { storageCases } from '../conformance/storage/suite.ts';
import { type BrowserSession, collectOutcome, openBrowserSession } from './browser-session.ts';
import { chosenEngines } from './drivers/start.ts';
import type { SuiteOutcome } from './outcome.ts';

describe.each(chosenEngines())('storage suite on IndexedDB of %s', (engine) => {
  let session: BrowserSession;
  let outcome: SuiteOutcome;

  beforeAll(async () => {
    session = await openBrowserSession(engine);
    const tab = await (await session.openSite()).open('worker-suite', { worker: 'storage-suite' });
    outcome = await collectOutcome(tab, session.browser);
  }, 180_000);
  afterAll(() => session?.close());

  /** Chromium alone has files that several can have open at once. */
  describe.each(engine === 'chromium' ? ['indexeddb', 'with journal files'] : ['indexeddb'])('%s', (kind) => {
    for (const { name } of storageCases) {
      test(name, () => {
        expect(outcome.failed.find((failure) => failure.name === `${kind}: ${name}`)?.message).toBeUndefined();
        expect(outcome.passed).toContain(`${kind}: ${name}`);
      });
    }
  });
});
