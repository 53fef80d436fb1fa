import { describe, expect, test } from 'vitest';
import { NodeHost } from '../support/conformance/node-host.ts';
import { bothDevices, hasNotes } from './demo-notes-page.ts';
import { bringToSight, click, importKept, keepExport, navigateTo, shows, text, texts, until } from './demo-page.ts';
import { useDemo } from './demo-session.ts';
import { chosenEngines } from './drivers/start.ts';

/** The page of the built demo that shows what this browser keeps. */
describe.each(chosenEngines())('the databases of the demo in %s', (engine) => {
  const demo = useDemo(engine);

  test('deletes a database in every tab', async () => {
    const list = await demo.openWithCountries();
    const tab = await demo.open('#/browser');
    await bringToSight(tab);
    await shows(tab, '.databases tbody tr:first-child td', '250');
    expect(await text(tab, '.card-title')).toBe('Another tab owns the storage');
    await click(tab, '.databases .danger');
    await click(tab, 'dialog .danger');
    await shows(tab, '.databases tbody tr:first-child td', 'not there');
    await shows(list, '.load h2', 'No countries yet');
  });

  test('exports a database to a file, and imports it again', async () => {
    await demo.openWithCountries();
    const tab = await demo.open('#/browser');
    await bringToSight(tab);
    await shows(tab, '.databases tbody tr:first-child td', '250');
    await keepExport(tab);
    await click(tab, '[data-action=export-countries]');
    await until(
      tab,
      `/^250 documents and 3 design documents, \\d+ KB$/.test(document.querySelector('.transfer .told').textContent)`,
    );
    await click(tab, '.databases .danger');
    await click(tab, 'dialog .danger');
    await shows(tab, '.databases tbody tr:first-child td', 'not there');
    await importKept(tab);
    await shows(tab, '.transfer .told', '250 documents and 3 design documents');
    await shows(tab, '.databases tbody tr:first-child td', '250');
  });

  test('are counted without their design documents, and that is said', async () => {
    await demo.serve(await NodeHost.start());
    const tab = await demo.open('');
    for (const device of bothDevices) await hasNotes(tab, device, 6);
    await bringToSight(tab);
    await navigateTo(tab, '#/browser');
    const rows = '.databases tbody tr';
    await until(tab, `document.querySelectorAll('${rows}').length === 6`);
    expect(await texts(tab, `${rows} code`)).toEqual(
      ['countries', 'cities', 'packing', '_replicator', 'notes-laptop', 'notes-phone'].map((name) => `/db/${name}`),
    );
    // Each device has a design document of its own, too.
    expect(await texts(tab, `${rows} td:nth-child(2)`)).toEqual(['not there', 'not there', 'not there', '4', '6', '6']);
    expect(await text(tab, '.databases + .hint, .table-frame + .hint')).toMatch(
      /^Documents are counted without the design documents/,
    );
  });
});
