import { afterAll, beforeAll, describe, test } from 'vitest';
import { type SuiteScope, suitesOf } from '../../conformance/http/all.ts';
import { isLongRun } from '../long-runs.ts';
import type { Host } from './host.ts';
import { reasonToSkip, runCase } from './runner.ts';

/** Makes each case of the HTTP conformance suite a vitest test against one host, and tells at the end what was skipped. */
export function registerSuites(name: string, scope: SuiteScope, startHost: () => Promise<Host>): void {
  describe(name, () => {
    let host: Host;
    let number = 0;
    const skipped: string[] = [];

    beforeAll(async () => {
      host = await startHost();
    });
    afterAll(async () => {
      await host.close();
      if (skipped.length > 0) console.info(`${name}: ${skipped.length} skipped\n  ${skipped.join('\n  ')}`);
    });

    for (const suite of suitesOf(isLongRun ? 'all' : scope)) {
      describe(suite.name, () => {
        for (const each of suite.cases) {
          test(each.name, async ({ skip }) => {
            const reason = reasonToSkip(host, each);
            if (reason !== undefined) {
              skipped.push(`${suite.name}: ${each.name} (${reason})`);
              skip(reason);
            }
            await runCase(host, each, ++number);
          });
        }
      });
    }
  });
}
