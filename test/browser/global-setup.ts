import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { buildPages } from './build-pages.ts';
import { prepareBrowser } from './drivers/find-browser.ts';
import { chosenEngines } from './drivers/start.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the built test pages. */
    readonly builtPages: string;
  }
}

/** Before all browser tests: what they drive is installed, what they load is built, in a folder of this run alone. */
export async function setup(project: TestProject): Promise<() => void> {
  for (const engine of chosenEngines()) prepareBrowser(engine);
  const folder = mkdtempSync(join(tmpdir(), 'settee-pages-'));
  await buildPages(folder);
  project.provide('builtPages', folder);
  return () => rmSync(folder, { recursive: true, force: true });
}
