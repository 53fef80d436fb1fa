import { expect } from 'vitest';
import type { Site } from './browser-session.ts';
import { call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';

/** Design documents with functions that come from strangers. */
export const endless = 'while (true);';
export const emitting = 'function (doc) { emit(doc.n, null); }';

/** A page with a database that has 20 documents and the design document, and one that others read. */
export async function openStrangeDatabase(site: Site, design: object, timeoutMs = 500): Promise<Tab> {
  const tab = await site.open('control');
  await call(tab, 'start', { base: '/db/', settings: { svc: { os_process_timeout: `${timeoutMs}` } } });
  for (const path of ['/db/neighbour', '/db/neighbour/doc', '/db/strange']) {
    expect(await call(tab, 'request', 'settee', 'PUT', path, path.endsWith('doc') ? {} : null)).toMatchObject({
      status: 201,
    });
  }
  const docs = Array.from({ length: 20 }, (_, n) => ({ _id: `doc-${n}`, n }));
  await call(tab, 'request', 'settee', 'POST', '/db/strange/_bulk_docs', { docs });
  const written = await call(tab, 'request', 'settee', 'PUT', '/db/strange/_design/d', design);
  expect(written).toMatchObject({ status: 201 });
  return tab;
}
