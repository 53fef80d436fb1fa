import type { Browser, Engine, LaunchOptions } from './browser.ts';
import { startChromium } from './chromium.ts';
import { startFirefox } from './firefox.ts';
import { startWebKit } from './webkit.ts';

const starters = {
  chromium: startChromium,
  firefox: startFirefox,
  webkit: startWebKit,
} as const satisfies Record<Engine, unknown>;

export function startBrowser(engine: Engine, options?: LaunchOptions): Promise<Browser> {
  return starters[engine](options);
}

/** The engines of this run: those that `SETTEE_BROWSERS` lists, separated by commas; Chromium by default. */
export function chosenEngines(): Engine[] {
  return (process.env['SETTEE_BROWSERS'] ?? 'chromium').split(',').map(parseEngine);
}

function parseEngine(name: string): Engine {
  if (name === 'chromium' || name === 'firefox' || name === 'webkit') return name;
  throw new Error(`SETTEE_BROWSERS names "${name}"; there are chromium, firefox and webkit`);
}
