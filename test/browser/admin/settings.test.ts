import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())('settings on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  test('changes a setting after showing the request, and takes the change back', async () => {
    await page.openAsAdmin('#/settings');
    await page.sees('Ids that one request may ask for. Takes effect at once.');
    await page.press('Change uuids/max_count');
    await page.fill('New value of uuids/max_count', '10');
    await page.press('Review and store');
    await page.sees(`await fetch("/_config/uuids/max_count", { method: 'PUT',`);
    await page.sees('− 1000 + 10');
    expect(await page.violations()).toEqual([]);
    await page.press('Store');
    await page.sees('1000 → 10');
    await page.sees('Default: 1000.');
    expect(await page.ask('GET', '_config/uuids/max_count')).toBe('10');
    await page.press('Undo the change of uuids/max_count');
    await page.sees('Undo the change of uuids/max_count');
    await page.press('Store');
    await page.seesNo('1000 → 10');
    expect(await page.ask('GET', '_config/uuids/max_count')).toBe('1000');
  });

  test('shows why the server refuses a value, and changes nothing', async () => {
    await page.openAsAdmin('#/settings');
    await page.press('Change uuids/max_count');
    await page.fill('New value of uuids/max_count', 'many');
    await page.press('Review and store');
    await page.press('Store');
    await page.sees('400 bad_request · PUT /_config/uuids/max_count');
    expect(await page.ask('GET', '_config/uuids/max_count')).toBe('1000');
  });

  test('finds settings by their meaning, and hides secrets', async () => {
    await page.openAsAdmin('#/settings');
    await page.fill('Name, value or meaning contains', 'port of the server');
    await page.sees('Takes effect when the process starts again.');
    await page.seesNo('uuids');
    await page.fill('Name, value or meaning contains', 'admins');
    await page.sees('root •••••• Show Change');
    expect(await page.violations()).toEqual([]);
  });
});
