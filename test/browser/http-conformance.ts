import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { messageOf } from '../../src/base/errors/database-error.ts';
import { type SuiteScope, suitesOf } from '../conformance/http/all.ts';
import { isLongRun } from '../support/long-runs.ts';
import { type BrowserSession, collectOutcome, openBrowserSession } from './browser-session.ts';
import type { Engine } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';
import { caseName, type SuiteOutcome } from './outcome.ts';

/** One of the ways to the core that a browser has: the page that runs the suite through it. */
export interface ConformanceWay {
  readonly way: string;
  readonly page: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** The cases that an engine runs on this way. Default: those that depend on the transport. */
  readonly scopes?: Readonly<Partial<Record<Engine, SuiteScope>>>;
}

/** Far longer than a page needs on a busy machine: `collectOutcome` notices one that is stuck. */
const MAX_SUITE_MS = 45 * 60_000;

/** Runs only the cases with this in their names (`suite: case`). The page runs them by itself, so that `-t` only chooses what is shown. */
const only = process.env['SETTEE_CASES'] ?? '';

/** The HTTP suite on one way. Each way has a file of its own, so that two can run at a time. */
export function describeHttpSuite({ way, page, parameters, scopes = {} }: ConformanceWay): void {
  describe.each(chosenEngines())(`HTTP suite in %s: ${way}`, (engine) => {
    const scope = isLongRun ? 'all' : (scopes[engine] ?? 'transport');
    let session: BrowserSession;
    let outcome: SuiteOutcome;

    const run = async () => {
      session = await openBrowserSession(engine);
      const tab = await (await session.openSite()).open(page, { ...parameters, scope, only });
      outcome = await collectOutcome(tab, session.browser);
    };
    beforeAll(async () => {
      const begunAt = Date.now();
      try {
        await run();
      } catch (error) {
        // As for the other tests in browsers: see `retry` in vitest.config.ts.
        console.info(`✓ at the second attempt: HTTP suite in ${engine}: ${way}: ${messageOf(error)}`);
        await session?.close().catch(() => undefined);
        await run();
      }
      console.info(`${engine}, ${way}: the page took ${Math.round((Date.now() - begunAt) / 1000)} s`);
    }, MAX_SUITE_MS);
    afterAll(async () => {
      await session?.close();
      if (outcome === undefined) return;
      const skipped = outcome.skipped
        .filter(({ name }) => name.includes(only))
        .map(({ name, reason }) => `\n  ${name} (${reason})`);
      console.info(`${engine}, ${way}: ${skipped.length} skipped${skipped.join('')}`);
      for (const { name, message } of outcome.passedLater) {
        console.info(
          `✓ at the second attempt: HTTP suite in ${engine}: ${way} > ${name}: ${message.split('\n', 1)[0]}`,
        );
      }
    });

    for (const suite of suitesOf(scope)) {
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
}
