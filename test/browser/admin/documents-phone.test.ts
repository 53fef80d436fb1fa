import { describe, expect, test } from 'vitest';
import type { Tab } from '../drivers/browser.ts';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';
import { EMPTY_PAGE } from './front.ts';

/** Pixels of the telephone. */
const [WIDTH, HEIGHT] = [390, 844];

describe.each(chosenEngines())('the list of documents on a telephone in %s', (engine) => {
  const page = useAdminPage(engine);

  /** The list of 200 documents in a frame that is as large as a telephone. `$` finds what is in it. */
  async function openPhone(): Promise<Tab> {
    await page.openAsAdmin();
    await page.ask('PUT', 'library');
    const docs = Array.from({ length: 200 }, (_, n) => ({ _id: `d${`${n}`.padStart(3, '0')}`, n }));
    await page.ask('POST', 'library/_bulk_docs', { docs });
    await page.tab.navigate(`${page.front.baseUrl}${EMPTY_PAGE}`);
    await page.tab.evaluate(`{
      const frame = document.createElement('iframe');
      Object.assign(frame.style, { position: 'fixed', inset: '0 auto auto 0', border: '0', width: '${WIDTH}px', height: '${HEIGHT}px' });
      frame.src = '/_utils/#/db/library';
      document.body.append(frame);
      globalThis.$ = (selector) => frame.contentDocument.querySelector(selector);
      globalThis.text = () => frame.contentDocument.body.innerText.replace(/\\s+/g, ' ');
    }`);
    await page.until(`$('.virtual-row a')?.textContent === 'd000'`, 'the first row');
    return page.tab;
  }

  test('shows the tab of the current screen, which has to be scrolled to', async () => {
    const tab = await openPhone();
    const right = `$('.tab-row [aria-current]')?.getBoundingClientRect().right`;
    expect(Number(await tab.evaluate(`$('.tab-row a:last-child').getBoundingClientRect().right`))).toBeGreaterThan(
      WIDTH,
    );
    await tab.evaluate(`document.querySelector('iframe').contentWindow.location.hash = '#/db/library/storage'`);
    await page.until(`$('.tab-row [aria-current]')?.dataset.label === 'Storage' && ${right} <= ${WIDTH}`, 'the tab');
  });

  test('has most of the height, and nothing is cut off', async () => {
    const tab = await openPhone();
    const [top, bottom] = await Promise.all(
      ['top', 'bottom'].map((side) => tab.evaluate(`$('[role=grid]').getBoundingClientRect().${side}`)),
    );
    expect(Number(top)).toBeLessThan(HEIGHT / 3);
    expect(Number(bottom)).toBeLessThanOrEqual(HEIGHT);
    expect(Number(bottom) - Number(top)).toBeGreaterThan(HEIGHT / 2);
    expect(await tab.evaluate(`$('main').scrollWidth <= ${WIDTH}`)).toBe(true);
    expect(await tab.evaluate(`text().includes('200 documents') && text().includes('Rows 1–')`)).toBe(true);
  });

  test('has its filters and layouts behind one button', async () => {
    const tab = await openPhone();
    const isOpen = `$('#list-options select').checkVisibility()`;
    expect(await tab.evaluate(isOpen)).toBe(false);
    await tab.evaluate(`$('.options-button').click()`);
    await page.until(isOpen, 'the filters');
    expect(await tab.evaluate(`$('[aria-label="Filter and layout"]').ariaExpanded`)).toBe('true');
    await tab.evaluate(`{
      $('#list-options select').value = 'design';
      $('#list-options select').dispatchEvent(new Event('change', { bubbles: true }));
    }`);
    await page.until(`text().includes('0 design documents match')`, 'the filtered list');
    await tab.evaluate(`$('.options-button').click()`);
    await page.until(`!${isOpen}`, 'no filters');
  });

  test('says that something is filtered while its filters are hidden', async () => {
    const tab = await openPhone();
    expect(await tab.evaluate(`$('.options-button .dot')`)).toBe(null);
    await tab.evaluate(`$('.options-button').click()`);
    await tab.evaluate(`{
      $('#list-options select').value = 'deleted';
      $('#list-options select').dispatchEvent(new Event('change', { bubbles: true }));
    }`);
    await page.until(`$('[aria-label="Filter and layout: not all are shown"] .dot') !== null`, 'a mark at the button');
  });
});
