import type { TestProject } from 'vitest/node';
import { prepareBrowser } from '../browser/drivers/find-browser.ts';
import { chosenEngines } from '../browser/drivers/start.ts';
import { packSettee } from './walk-through.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The package as it would be published. */
    readonly setteeTarball: string;
  }
}

/** Before all recipes: what drives them is installed, and Settee is built and packed once. */
export async function setup(project: TestProject): Promise<() => void> {
  for (const engine of chosenEngines()) prepareBrowser(engine);
  const settee = await packSettee();
  project.provide('setteeTarball', settee.tarball);
  return () => settee.remove();
}
