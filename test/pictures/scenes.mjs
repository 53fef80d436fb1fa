/**
 * What is in the pictures. A scene brings a page of the demo or of the administration to the moment that is shown, waiting for what it
 * shows and for no time. `themes`: one picture for each.
 */
import { admin } from './content.mjs';

const BOTH = ['light', 'dark'];
const PHONE = [390, 780];

/** Loading 171,075 cities takes a while on a slow machine. */
const LOADING_MS = 180_000;

export const scenes = [
  {
    name: 'demo-notes',
    size: [1440, 900],
    themes: BOTH,
    take: async ({ page, server }) => {
      await openDemo(page, server, '#/notes');
      for (const device of ['phone', 'laptop']) {
        await page.locator(`[data-device=${device}] .notes-rows li`).first().waitFor();
        await page.locator(`[data-device=${device}] .device-state`, { hasText: 'In sync' }).waitFor();
      }
      await page.waitForFunction(() => [...document.images].every(({ naturalWidth }) => naturalWidth > 0));
    },
  },
  {
    name: 'demo',
    themes: BOTH,
    take: async ({ page, server }) => {
      await openDemo(page, server, '#/cities');
      await load(page, '171,075 cities');
      await page.locator('.request-bar summary').hover();
    },
  },
  {
    name: 'demo-conflict',
    take: async ({ page, context, server }) => {
      await openDemo(page, server, '#/countries');
      await load(page, '250 countries');
      await page.goto(`${server.demo}#/countries/austria`);
      const other = await context.newPage();
      await openDemo(other, server, '#/countries/austria');
      await change(page, '"Vienna"', '"Wien"');
      await change(other, '"area": 83871', '"area": 83879');
      await other.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByText('Another tab has changed this document').waitFor();
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await page.getByRole('button', { name: 'Combine both' }).waitFor();
      await page
        .locator('.conflict')
        .evaluate((panel) => panel.scrollIntoView({ block: 'center', behavior: 'instant' }));
    },
  },
  {
    name: 'demo-sync',
    size: [1280, 740],
    themes: BOTH,
    take: async ({ page, server }) => {
      await openDemo(page, server, '#/sync');
      await page.getByText('In sync', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Make a conflict' }).click();
      for (const side of ['here', 'there'])
        await page.locator(`[data-side=${side}] .is-torn`).waitFor({ timeout: 60_000 });
      await page.getByText('In sync', { exact: true }).waitFor();
    },
  },
  {
    name: 'demo-phone',
    size: PHONE,
    take: async ({ page, server }) => {
      await openDemo(page, server, '#/countries');
      await load(page, '250 countries');
    },
  },
  {
    name: 'administration',
    size: [1280, 640],
    themes: BOTH,
    take: async ({ page, server }) => {
      await openAdministration(page, server, '#/');
      await page
        .getByText(/171,07\d/)
        .first()
        .waitFor();
    },
  },
  {
    name: 'administration-documents',
    take: async ({ page, server }) => {
      await openAdministration(page, server, '#/db/cities');
      await page
        .getByText(/171,07\d/)
        .first()
        .waitFor();
      await page.getByText('a-coruna.es').first().waitFor();
    },
  },
  {
    name: 'administration-document',
    take: async ({ page, server }) => {
      await openAdministration(page, server, '#/db/notes/document/lighthouse');
      // A value of the document, in whatever it is shown.
      await page.getByText('Cape Otway').first().waitFor();
      await page
        .getByText(/conflict/i)
        .first()
        .waitFor();
    },
  },
  {
    name: 'administration-phone',
    size: PHONE,
    take: async ({ page, server }) => {
      await openAdministration(page, server, '#/db/countries');
      await page.getByText('afghanistan').first().waitFor();
    },
  },
];

async function openDemo(page, server, hash) {
  await page.goto(`${server.demo}${hash}`);
  await page.getByText('Online', { exact: true }).waitFor();
}

/** Loads the documents of the page, and waits until all of them are counted and on the map. */
async function load(page, what) {
  await page.getByRole('button', { name: `Load ${what}` }).click();
  await page.getByText(`${what} in this browser`).waitFor({ timeout: LOADING_MS });
  // What was loaded is told for a while, and the map is read again.
  await page.getByText('Done.').waitFor({ state: 'hidden', timeout: LOADING_MS });
}

async function change(page, before, after) {
  const editor = page.locator('#editor');
  await editor.waitFor();
  await page.waitForFunction((text) => document.querySelector('#editor').value.includes(text), before);
  await editor.fill((await editor.inputValue()).replace(before, after));
}

async function openAdministration(page, server, hash) {
  const address = `${server.database}_utils/`;
  await page.goto(address);
  await page.evaluate(
    (user) =>
      fetch('/_session', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(user),
      }),
    admin,
  );
  await page.goto('about:blank');
  await page.goto(`${address}${hash}`);
}
