import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { prepareBrowser } from '../browser/drivers/find-browser.ts';
import { chosenEngines } from '../browser/drivers/start.ts';

/** Before all tests: what drives them is installed, and the site is built. A link that leads nowhere ends the build, and so the run. */
export function setup(): void {
  for (const engine of chosenEngines()) prepareBrowser(engine);
  const script = join(import.meta.dirname, '../../docs/site/run.mjs');
  const startedAt = performance.now();
  execFileSync(process.execPath, [script, 'build'], { stdio: ['ignore', 'ignore', 'inherit'] });
  console.info(`The site was built in ${Math.round((performance.now() - startedAt) / 1000)} s`);
}
