import { test } from 'vitest';
import { listenInCluster } from '../../support/conformance/cluster-host.ts';
import { NodeHost } from '../../support/conformance/node-host.ts';
import { registerSuites } from '../../support/conformance/register.ts';
import { postgresUrl } from '../../support/postgres/postgres.ts';

const url = await postgresUrl();

// A contributor may have no PostgreSQL; in CI `postgresUrl` fails in place of returning undefined.
if (url === undefined) test.skip('a cluster of Node servers: there is no PostgreSQL');
else {
  const listen = listenInCluster(url);
  registerSuites('a cluster of Node servers', 'transport', () => NodeHost.start({}, listen));
}
