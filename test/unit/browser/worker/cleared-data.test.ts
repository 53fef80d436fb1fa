import { forceCloseDatabase } from 'fake-indexeddb';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { patient } from '../../../support/patience.ts';
import { Origin, type Tab } from './origin.ts';

/** The browser closes the storage by force, as when it clears the data of a site. */
let origin: Origin;
let connections: IDBDatabase[];

beforeEach(() => {
  origin = new Origin();
  connections = [];
  const open = origin.indexedDB.open.bind(origin.indexedDB);
  vi.spyOn(origin.indexedDB, 'open').mockImplementation((...parameters) => {
    const request = open(...parameters);
    request.addEventListener('success', () => connections.push(request.result));
    return request;
  });
});

afterEach(() => origin.close());

async function openTab(): Promise<Tab> {
  const tab = origin.createTab(undefined, true);
  await tab.open();
  return tab;
}

/** All connections that are open. */
function closeByForce(): void {
  // Its types ask for the class where it takes a connection.
  for (const connection of connections.splice(0)) forceCloseDatabase(connection as unknown as typeof IDBDatabase);
}

test('when data are cleared, each page is notified once, that of the owner and the others', async () => {
  const owner = await openTab();
  const other = await openTab();
  expect((await owner.ask('PUT', 'notes')).status).toBe(201);
  closeByForce();
  expect(owner.cleared).toBe(1);
  await vi.waitFor(() => expect(other.cleared).toBe(1), patient);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect([owner.cleared, other.cleared]).toEqual([1, 1]);
});

test('a worker started after data were cleared gets the storage, even if the previous owner is silent', async () => {
  const owner = await openTab();
  expect((await owner.ask('PUT', 'notes')).status).toBe(201);
  closeByForce();
  owner.kill();
  const next = await openTab();
  expect((await next.ask('GET', 'notes')).status).toBe(200);
  expect(next.cleared).toBe(0);
});

test('a service worker opens the storage again after data were cleared', async () => {
  const serviceWorker = origin.createServiceWorker();
  expect(await serviceWorker.takeIfFree()).toBe(true);
  const read = () => serviceWorker.handle({ method: 'GET', url: origin.instance.base, headers: {}, body: null });
  expect(await read()).toMatchObject({ status: 200 });
  closeByForce();
  expect(await read()).toMatchObject({ status: 200 });
});
