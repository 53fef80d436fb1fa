import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())('the activity of the server on the administration page in %s', (engine) => {
  const page = useAdminPage(engine);

  test('shows tasks while they run, and where they lead', async () => {
    await page.openAsAdmin('#/activity');
    await page.sees('No task runs now.');
    await page.ask('PUT', 'library');
    await page.ask('PUT', 'copy');
    await page.ask('PUT', 'library/a', {});
    await page.ask('PUT', '_replicator/to-copy', { source: 'library', target: 'copy', continuous: true });
    await page.sees('1 task now.');
    await page.sees('Replicating library → copy');
    await page.sees('Processed 1 of 1 changes (100%)');
    await page.until(`document.querySelector('progress')?.value === 100`);
    await page.press('library → copy');
    await page.until(`location.hash === '#/replication/to-copy'`);
    await page.ask('PUT', 'other');
    await page.goTo('#/activity');
    await page.sees('1 task now.');
  });

  test('follows the log, and filters it by level and text', async () => {
    await page.openAsAdmin('#/activity/log');
    await page.sees('entries in the last 40.0 kB of the log');
    await page.ask('POST', '_log', { level: 'info', message: 'the first message' });
    await page.sees('the first message');
    await page.until(
      `/^\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d$/.test(document.querySelector('.log time').textContent)`,
      'a time',
    );
    await page.ask('POST', '_log', { level: 'error', message: 'the second message' });
    await page.sees('the second message');
    await page.fill('Level', 'error');
    await page.seesNo('the first message');
    await page.sees('the second message');
    await page.fill('Level', '');
    await page.fill('Text contains', 'FIRST mess');
    await page.sees('the first message');
    await page.seesNo('the second message');
    await page.fill('Text contains', 'nothing is like this');
    await page.sees('0 of');
    await page.press('Load earlier entries');
    await page.sees('in the last 200 kB of the log');
  });

  test('draws what the server counts, and lists all figures', async () => {
    await page.openAsAdmin('#/activity/statistics');
    await page.sees('Requests per second');
    await page.sees('Documents per second');
    await page.until(`document.querySelectorAll('.graph canvas').length === 3`, 'three graphs');
    await page.ask('PUT', 'library');
    await page.ask('POST', 'library/_bulk_docs', { docs: [{ _id: 'a' }, { _id: 'b' }] });
    await page.until(
      `/Documents per second: Reads [\\d.]+, Writes [\\d.]+/.test(document.querySelectorAll('.graph [role=img]')[1].ariaLabel)`,
      'rates',
    );
    await page.fill('Name contains', 'database_writes');
    await page.sees('svc/database_writes');
    await page.seesNo('httpd/requests');
    await page.fill('Name contains', 'no such figure');
    await page.sees('No figure is called like that.');
  });

  test('tells those who are not admins what they lack', async () => {
    await page.open('#/activity/log');
    await page.sees('Only admins can see the activity of the server.');
  });

  test('breaks no rule of accessibility', async () => {
    await page.openAsAdmin();
    await page.ask('PUT', 'library');
    await page.ask('PUT', 'copy');
    await page.ask('PUT', '_replicator/to-copy', { source: 'library', target: 'copy', continuous: true });
    await page.goTo('#/activity');
    await page.sees('1 task now.');
    expect(await page.violations()).toEqual([]);
    await page.goTo('#/activity/log');
    await page.sees('entries in the last');
    expect(await page.violations()).toEqual([]);
    await page.goTo('#/activity/statistics');
    await page.sees('svc/database_writes');
    expect(await page.violations()).toEqual([]);
  });
});
