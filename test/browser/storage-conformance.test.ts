import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { storageCases } from '../conformance/storage/suite.ts';
import { chosenEngines } from './drivers/start.ts';
import type { SuiteOutcome } from './outcome.ts';
import { collectOutcome, openScene, type Scene } from './scene.ts';

describe.each(chosenEngines())('storage suite on IndexedDB of %s', (engine) => {
  let scene: Scene;
  let outcome: SuiteOutcome;

  beforeAll(async () => {
    scene = await openScene(engine);
    const tab = await (await scene.openSite()).open('worker-suite', { worker: 'storage-suite' });
    outcome = await collectOutcome(tab, scene.browser);
  }, 180_000);
  afterAll(() => scene?.close());

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
