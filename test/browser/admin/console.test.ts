import { describe, expect, test } from 'vitest';
import { patient } from '../../support/patience.ts';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())('the console of the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  test('sends a request, shows the response, logs it, and sends it again after an edit', async () => {
    await page.openAsAdmin('#/console');
    await page.fill('Method', 'PUT');
    await page.fill('Path', '/library');
    await page.press('Send');
    await page.sees('Response 201');
    await page.sees('PUT /library 201');
    expect(await page.ask('GET', '_all_dbs')).toEqual(['library']);
    await page.press('Edit PUT /library');
    await page.fill('Path', 'library/a');
    await page.fill('Body', '{"n": 1');
    await page.sees('The body is not JSON');
    await page.fill('Body', '{"n": 1}');
    await page.press('Send');
    await page.sees('PUT /library/a 201');
    expect(await page.ask('GET', 'library/a')).toMatchObject({ n: 1 });
    expect(await page.violations()).toEqual([]);
  });

  test('keeps underscores apart from the line below links, and in sight in paths', async () => {
    await page.open('#/console');
    await page.sees('What this page has requested');
    expect(
      await page.tab.evaluate(`getComputedStyle(document.querySelector('main a, .menu a')).textUnderlineOffset`),
    ).toBe('4px');
    expect(
      await page.tab.evaluate(
        `!matchMedia('(pointer: fine)').matches || getComputedStyle(document.querySelector('[aria-label=Path]:is(input)')).fontSize === '12.5px'`,
      ),
    ).toBe(true);
  });

  test('keeps saved requests in the browser', async () => {
    await page.openAsAdmin('#/console');
    await page.fill('Path', '_all_dbs');
    await page.fill('Name under which the request is saved', 'databases');
    await page.press('Save');
    await page.sees('databases GET /_all_dbs');
    await page.goTo('#/');
    await page.goTo('#/console');
    await page.press('databases');
    await page.sees('await fetch("/_all_dbs")');
    await page.press('Forget databases');
    await page.seesNo('Saved requests');
  });

  test('sends nothing that writes in read-only mode', async () => {
    await page.openAsAdmin('#/', { admins: { root: 'rootpw' }, utils: { read_only: 'true' } });
    await page.goTo('#/console');
    await page.fill('Path', 'library');
    await expect.poll(() => page.whyOff('Send'), patient).toBe(undefined);
    await page.fill('Method', 'DELETE');
    await page.until(`document.querySelector('.request-texts')?.textContent.includes('DELETE') === true`);
    await page.isOff(
      'Send',
      'Read-only mode is on: this server’s setting utils/read_only says so. Switch it off at the bottom of the menu.',
    );
  });
});
