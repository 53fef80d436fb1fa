import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { onTestFinished } from 'vitest';
import type { Tab } from '../browser/drivers/browser.ts';
import { findChromium } from '../browser/drivers/find-browser.ts';

const manifest = {
  manifest_version: 3,
  name: 'notes',
  version: '1',
  content_security_policy: { extension_pages: "script-src 'self' 'wasm-unsafe-eval'" },
};

/**
 * A built app as pages of an extension of Chromium: their scheme is none of the web's, but has origins and is trusted, as that which an app in
 * Electron gives itself. Resolves to what opens such a page.
 */
export async function openExtension(dist: string): Promise<() => Promise<Pick<Tab, 'evaluate' | 'close'>>> {
  const folder = mkdtempSync(join(tmpdir(), 'settee-extension-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(dist, folder, { recursive: true });
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
  const context = await chromium.launchPersistentContext('', {
    executablePath: findChromium(),
    // The switch of the driver's own is for a Chromium without extensions.
    headless: false,
    args: ['--headless=new', '--no-sandbox', `--disable-extensions-except=${folder}`, `--load-extension=${folder}`],
  });
  onTestFinished(() => context.close());
  return async () => {
    const page = await context.newPage();
    await page.goto(`chrome-extension://${idOf(folder)}/index.html`);
    return { evaluate: (expression) => page.evaluate(expression), close: () => page.close() };
  };
}

/** Chromium makes it of the folder's path: half a SHA-256 whose digits are letters from `a` on. */
function idOf(folder: string): string {
  const digits = createHash('sha256').update(folder).digest('hex').slice(0, 32);
  return [...digits].map((digit) => 'abcdefghijklmnop'[Number.parseInt(digit, 16)]).join('');
}
