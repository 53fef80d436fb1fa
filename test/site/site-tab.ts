import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { must } from '../../src/base/shared/assert.ts';
import type { Browser, Tab } from '../browser/drivers/browser.ts';
import { type SiteServer, serveSite } from './site-server.ts';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What a block showed when it had run. */
export interface BlockOutcome {
  readonly code: string;
  readonly outcome: string;
  readonly bodies: readonly string[];
  readonly errors: readonly string[];
}

/** The theme of a page, as its switch sets it. */
export type Theme = 'light' | 'dark';

/** Waits in the page, and fails with what the condition was. */
const helpers = `
  globalThis.until = async (condition) => {
    for (let n = 0; n < 900; n++) {
      if (condition()) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error('In vain: ' + condition);
  };
  globalThis.run = async (elements) => {
    const blocks = [...document.querySelectorAll('.runnable')];
    blocks.at(-1).querySelector('.runnable-run').click();
    await until(() => blocks.every(({ dataset }) => dataset.outcome));
    return blocks.map((block) => ({
      code: JSON.parse(block.dataset.code).text,
      outcome: block.dataset.outcome,
      bodies: [...block.querySelectorAll('.runnable-body')].map(({ textContent }) => textContent),
      errors: [...block.querySelectorAll('.runnable-error')].map(({ textContent }) => textContent),
    }));
  };
`;

/** The site in a tab, below a path. */
export class SiteTab {
  readonly server: SiteServer;
  readonly tab: Tab;

  private constructor(server: SiteServer, tab: Tab) {
    this.server = server;
    this.tab = tab;
  }

  static async open(browser: Browser, path: string, page: string, theme: Theme = 'light'): Promise<SiteTab> {
    const server = await serveSite(path);
    const site = new SiteTab(server, await browser.open(`${server.url}icon.svg`));
    await site.tab.evaluate(`localStorage.setItem('vitepress-theme-appearance', '${theme}')`).catch(() => undefined);
    await site.go(page);
    return site;
  }

  /** Loads a page, and waits until its scripts have taken over. */
  async go(page: string): Promise<void> {
    await this.tab.navigate(`${this.server.url}${page}`);
    await this.tab.evaluate(`void (() => { ${helpers} })()`);
    await this.until(`document.readyState === 'complete' && document.querySelector('#app')?.__vue_app__ !== undefined`);
  }

  async until(condition: string): Promise<void> {
    await this.tab.evaluate(`until(() => ${condition})`);
  }

  /** Runs all blocks of the page, in order. */
  async runAll(): Promise<readonly BlockOutcome[]> {
    return (await this.tab.evaluate('run()')) as readonly BlockOutcome[];
  }

  /** What axe finds: the rules that are broken, each with the elements. */
  async violations(): Promise<unknown> {
    await this.tab.evaluate(`void (() => { if (!globalThis.axe) { ${axe} } })()`);
    return this.tab.evaluate(
      `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
        violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html, any, all, none }) =>
          html.slice(0, 150) + ' ' + (([...any, ...all, ...none][0])?.message ?? '')).join(' | ')))`,
    );
  }

  /** Origins from which something was loaded. */
  async origins(): Promise<readonly string[]> {
    const found = await this.tab.evaluate(
      `[...new Set(performance.getEntriesByType('resource').map(({ name }) => new URL(name).origin))]`,
    );
    return must(Array.isArray(found) ? found.map(String) : undefined, 'list of origins');
  }

  async close(): Promise<void> {
    await this.tab.close();
    await this.server.close();
  }
}
