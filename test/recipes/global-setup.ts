import type { TestProject } from 'vitest/node';
import { prepareBrowser } from '../browser/drivers/find-browser.ts';
import { chosenEngines } from '../browser/drivers/start.ts';
import { packSettee } from './walk-through.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The package as it would be published. */
    readonly setteeTarball: string;
    /** This package, the server's, and the one that makes apps. */
    readonly starterTarballs: Readonly<Record<'settee' | 'server' | 'create', string>>;
  }
}

/** Before all recipes: what drives them is installed, and Settee is built and packed once. */
export async function setup(project: TestProject): Promise<() => void> {
  for (const engine of chosenEngines()) prepareBrowser(engine);
  const settee = await packSettee();
  project.provide('setteeTarball', settee.tarball);
  const [server, create] = [await settee.packOther('settee-server'), await settee.packOther('create-settee')];
  project.provide('starterTarballs', { settee: settee.tarball, server, create });
  return () => settee.remove();
}
