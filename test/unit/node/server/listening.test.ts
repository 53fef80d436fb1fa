import { expect, test } from 'vitest';
import { ByteBudget } from '../../../../src/base/shared/byte-budget.ts';
import type { PlainRequest } from '../../../../src/base/shared/message.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { listenAt } from '../../../../src/node/server/listening.ts';
import { afterThisTest, connect, KEY, request, useServers } from '../forwarding/linked-servers.ts';

useServers();

/** A server that other machines reach. */
async function listenOpenly() {
  const config = createConfig({ httpd: { bind_address: '0.0.0.0', port: '0' } });
  const seen: PlainRequest[] = [];
  const state = { hasAdmin: true };
  const addresses: string[] = [];
  const server = await listenAt(
    { config },
    { hasAdmin: () => state.hasAdmin, links: { key: KEY, addresses: () => addresses, settingsVersion: () => 'v' } },
    {
      ...{ log: silentLog, addEntry: () => {}, bytesInFlight: new ByteBudget(1_000_000, 1_000), network: undefined },
      handle: (arrived) => {
        seen.push(arrived);
        return { status: 200, headers: {}, body: null };
      },
    },
  );
  afterThisTest(() => server.close(0));
  const url = server.url.replace('0.0.0.0', '127.0.0.1');
  addresses.push(url);
  return { url, seen, state };
}

test('a server that accepts links answers requests of servers without an address, and those of clients as if they had come here', async () => {
  const { url, seen, state } = await listenOpenly();
  const links = connect();
  const statusOf = async (peer: string | undefined) => (await links.forward(url, request('GET', { peer }))).status;
  expect(await statusOf('192.0.2.1')).toBe(200);
  state.hasAdmin = false;
  expect([await statusOf('192.0.2.1'), await statusOf('127.0.0.1'), await statusOf(undefined)]).toEqual([
    403, 200, 200,
  ]);
  expect(seen.map(({ peer }) => peer)).toEqual(['192.0.2.1', '127.0.0.1', undefined]);
});

test('a server that accepts links sends its settings with their name', async () => {
  const { url } = await listenOpenly();
  const seen: unknown[] = [];
  const links = connect({
    onSettings: ({ version, settings: { httpd } }) => void seen.push([version, httpd?.['bind_address']]),
  });
  links.followSettings(url);
  await links.forward(url, request('GET'));
  expect(seen).toEqual([['v', '0.0.0.0']]);
});
