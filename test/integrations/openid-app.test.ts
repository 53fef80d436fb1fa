/** The app of docs/recipes/openid.md, built as it says, with a real provider. */
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFailed, onTestFinished, test } from 'vitest';
import { createApp } from '../browser/app-builds.ts';
import type { Browser, Tab } from '../browser/drivers/browser.ts';
import { prepareBrowser } from '../browser/drivers/find-browser.ts';
import { chosenEngines, startBrowser } from '../browser/drivers/start.ts';
import { startSiteServer } from '../browser/server.ts';
import { filesOf } from '../recipes/page-files.ts';
import { patient } from '../support/patience.ts';
import { readPage, samplesOf } from '../unit/docs/pages.ts';
import { SetteeProcess } from '../unit/node/settee-process.ts';
import { OpenIdProvider } from './provider.mjs';

const recipe = readPage('docs/recipes/openid.md').text;
const ROOT = `Basic ${btoa('root:choose another password')}`;
const soon = { ...patient, interval: 50 };

beforeAll(() => {
  for (const engine of chosenEngines()) prepareBrowser(engine);
}, 300_000);

interface Place {
  readonly origin: string;
  readonly provider: OpenIdProvider;
  readonly notes: string;
}

/** The provider, the server and the built app, until the test ends. Tokens last 20 seconds. */
async function openPlace(): Promise<Place> {
  const app = createApp({}, ['vite']);
  onTestFinished(() => app.remove());
  const installed = join(import.meta.dirname, 'node_modules');
  symlinkSync(join(installed, 'oidc-client-ts'), join(app.path, 'node_modules/oidc-client-ts'), 'junction');
  const { origin, close } = await startSiteServer(app.outDir);
  onTestFinished(close);
  const provider = await OpenIdProvider.start(
    { ana: ['editor'], bob: [], eve: ['editor'] },
    { origin, accessTokenTTL: 20 },
  );
  onTestFinished(() => provider.stop());
  const issuer = 'https://login.example.org/realms/team';
  const [settings = ''] = samplesOf(recipe, 'ini');
  const server = await serve(settings.replace(issuer, provider.issuer).replace('https://app.example.org', origin));
  for (const [name, text] of filesOf(recipe))
    app.write(name, text.replace(issuer, provider.issuer).replace('https://settee.example.org', server));
  await app.build({ configFile: join(app.path, 'vite.config.mts') });
  const [security = ''] = samplesOf(recipe, 'json');
  const notes = `${server}/notes`;
  await put(notes);
  await put(`${notes}/_security`, security);
  return { origin, provider, notes };
}

async function serve(settings: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'settee-openid-app-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, 'settee.ini'), settings, { mode: 0o600 });
  const server = new SetteeProcess(['serve', '--data', folder, '--port', '0']);
  onTestFinished(() => server.stop());
  return (await server.url()).replace(/\/$/, '');
}

async function put(url: string, body = ''): Promise<void> {
  const headers = { authorization: ROOT, 'content-type': 'application/json' };
  const response = await fetch(url, { method: 'PUT', headers, ...(body !== '' && { body }) });
  if (!response.ok) throw new Error(`${url}: ${await response.text()}`);
}

async function textsAtServer(notes: string): Promise<unknown[]> {
  const response = await fetch(`${notes}/_all_docs?include_docs=true`, { headers: { authorization: ROOT } });
  const { rows }: { rows: { doc: { text?: string } }[] } = JSON.parse(await response.text());
  return rows.flatMap(({ doc }) => doc.text ?? []).sort();
}

/** The app, or the provider's page, in a tab. */
class Visit {
  readonly browser: Browser;
  readonly tab: Tab;

  constructor(browser: Browser, tab: Tab) {
    this.browser = browser;
    this.tab = tab;
  }

  async until(expression: string, value: unknown): Promise<void> {
    // While one page follows another, no script runs.
    await expect.poll(() => this.tab.evaluate(expression).catch(String), soon).toEqual(value);
  }

  async click(selector: string): Promise<void> {
    await this.until(`document.querySelector('${selector}')?.checkVisibility()`, true);
    await this.#leave(`document.querySelector('${selector}').click()`);
  }

  /** What may bring another page: then no answer comes. If it fails, what is waited for next does not come. */
  async #leave(statement: string): Promise<void> {
    await this.tab.evaluate(`void setTimeout(() => { ${statement}; })`).catch(() => undefined);
  }

  async logIn(user: string): Promise<void> {
    await this.click('#login');
    await this.until('document.title', 'Provider');
    await this.until("document.querySelector('form') !== null", true);
    await this.#leave(`
      document.querySelector('input').value = '${user}';
      document.querySelector('form').requestSubmit()
    `);
    await this.isIn();
  }

  /** The address has nothing of the log-in any more. */
  async isIn(): Promise<void> {
    await this.until("document.querySelector('main')?.hidden === false && location.search === ''", true);
  }

  async says(state: string): Promise<void> {
    await this.until("document.querySelector('output')?.textContent", state);
  }

  async add(text: string): Promise<void> {
    await this.tab.evaluate(`{
      document.querySelector('input').value = '${text}';
      document.querySelector('form').requestSubmit();
    }`);
  }

  async shows(...texts: readonly string[]): Promise<void> {
    await this.until("[...document.querySelectorAll('li')].map((item) => item.textContent).sort()", [...texts].sort());
  }

  /** The server no longer takes the token that the app has now. */
  async tokenExpires(notes: string): Promise<void> {
    const users = "Object.entries(localStorage).find(([name]) => name.startsWith('oidc.user:'))[1]";
    const token = await this.tab.evaluate(`JSON.parse(${users}).access_token`);
    const status = () =>
      fetch(notes, { headers: { authorization: `Bearer ${token}` } }).then((answer) => answer.status);
    expect(await status()).toBe(200);
    await expect.poll(status, { ...soon, interval: 500 }).toBe(401);
  }

  /** Databases with notes in this browser. */
  databases(): Promise<unknown> {
    return this.tab.evaluate(
      "fetch('/db/_all_dbs').then((r) => r.json()).then((names) => names.filter((name) => name.startsWith('notes-')))",
    );
  }
}

async function open(engine: Browser['engine'], origin: string): Promise<Visit> {
  const browser = await startBrowser(engine);
  onTestFailed(() => console.info(browser.messages.slice(-30).join('\n')));
  onTestFinished(() => browser.close());
  return new Visit(browser, await browser.open(`${origin}/`));
}

test('the recipe has the files of an app', () => {
  expect([...filesOf(recipe).keys()]).toEqual(['vite.config.mts', 'index.html', 'login.ts', 'app.ts']);
});

describe.each(chosenEngines())('the app of the recipe, in %s', (engine) => {
  test('logs in by the provider, syncs with tokens that are renewed, and logs out', { timeout: 400_000 }, async () => {
    const { origin, provider, notes } = await openPlace();
    const rule =
      'function (doc, old, user) { if (!/^(main:ana|root)$/.test(user.name)) throw({ forbidden: user.name }); }';
    await put(`${notes}/_design/rules`, JSON.stringify({ validate_doc_update: rule }));
    const page = await open(engine, origin);

    await page.logIn('ana');
    await page.add('milk');
    await expect.poll(() => textsAtServer(notes), soon).toEqual(['milk']);
    await page.says('paused');
    expect(await page.databases()).toEqual(['notes-616e61']);

    // Every state from now on.
    await page.tab.evaluate(`{
      globalThis.states = new Set();
      const output = document.querySelector('output');
      new MutationObserver(() => states.add(output.textContent)).observe(output, { childList: true });
    }`);
    const { renewals } = provider;
    await page.tokenExpires(notes);
    await put(`${notes}/b`, '{"text": "bread"}');
    await page.shows('bread', 'milk');
    await page.add('salt');
    await expect.poll(() => textsAtServer(notes), soon).toEqual(['bread', 'milk', 'salt']);
    expect(provider.renewals).toBeGreaterThan(renewals);
    expect(await page.tab.evaluate("states.has('unauthorized') || states.has('error')")).toBe(false);

    await page.tab.reload();
    await page.isIn();
    await page.shows('bread', 'milk', 'salt');

    await page.click('#logout');
    await page.click('button[name=logout][value=yes]');
    await page.click('#login:not([hidden])');
    // The provider has no session any more, so it asks who it is.
    await page.until('document.title', 'Provider');
    await page.tab.navigate(`${origin}/`);
    await page.until("document.querySelector('#login')?.hidden", false);
    const replications = "fetch('/db/_scheduler/docs').then((r) => r.json()).then(({ docs }) => docs.length)";
    await page.until(replications, 0);
    // What stayed on the device is not shown to others, and not copied with their tokens.
    await page.logIn('bob');
    await page.says('unauthorized');
    await page.shows();
  });

  test('a user who has to log in again can write meanwhile', { timeout: 400_000 }, async () => {
    const { origin, provider, notes } = await openPlace();
    const page = await open(engine, origin);
    await page.logIn('ana');
    await page.says('paused');
    await provider.revokeRefreshTokens();
    await page.tokenExpires(notes);
    await page.add('milk');
    await page.says('unauthorized');
    await page.shows('milk');
    expect(await textsAtServer(notes)).toEqual([]);
    // The provider still knows who it is.
    await page.click('#login');
    await expect.poll(() => textsAtServer(notes), soon).toEqual(['milk']);
    await page.isIn();
    await page.says('paused');
  });

  test('without a network the user stays logged in', { timeout: 400_000 }, async ({ skip }) => {
    const { origin, notes } = await openPlace();
    const page = await open(engine, origin);
    if (page.browser.can.setOffline !== true) return skip(page.browser.can.setOffline);
    await page.logIn('ana');
    await page.says('paused');
    await page.until('navigator.serviceWorker.controller !== null', true);
    await page.tokenExpires(notes);
    await page.browser.setOffline(true);
    await page.tab.reload();
    await page.isIn();
    await page.says('offline');
    await page.add('milk');
    await page.shows('milk');
    await page.browser.setOffline(false);
    await expect.poll(() => textsAtServer(notes), soon).toEqual(['milk']);
  });

  test('notes of one user are not copied with tokens of another', { timeout: 400_000 }, async () => {
    const { origin, provider, notes } = await openPlace();
    const page = await open(engine, origin);
    await page.logIn('ana');
    await page.says('paused');
    await page.tab.navigate(`${provider.issuer}/session/end`);
    await page.click('button[name=logout][value=yes]');
    await provider.revokeRefreshTokens();
    await page.until("document.querySelector('button') === null", true);
    await page.tab.navigate(`${origin}/`);
    await page.isIn();
    await page.says('unauthorized');
    await page.add('of ana');
    await page.shows('of ana');
    await page.logIn('eve');
    await page.add('of eve');
    await page.shows('of eve');
    await expect.poll(() => textsAtServer(notes), soon).toEqual(['of eve']);
    const ids =
      "fetch('/db/_scheduler/docs').then((r) => r.json()).then(({ docs }) => docs.map(({ doc_id }) => doc_id))";
    await page.until(`${ids}.then((ids) => ids.map((id) => id.split(':')[2]))`, ['notes-657665', 'notes-657665']);
  });
});
