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

  for (const { name } of storageCases) {
    test(name, () => {
      expect(outcome.failed.find((failure) => failure.name === `indexeddb: ${name}`)?.message).toBeUndefined();
      expect(outcome.passed).toContain(`indexeddb: ${name}`);
    });
  }
});
