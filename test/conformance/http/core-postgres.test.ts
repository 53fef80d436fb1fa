import { test } from 'vitest';
import { createSandboxWorkers, readQuickJsWasm } from '../../../src/node/server/platform.ts';
import { CoreHost } from '../../support/conformance/core-host.ts';
import { postgresStorage } from '../../support/conformance/postgres-storage.ts';
import { registerSuites } from '../../support/conformance/register.ts';
import { postgresUrl } from '../../support/postgres/postgres.ts';

const url = await postgresUrl();
const name = 'core on PostgreSQL';
// A contributor may have no PostgreSQL; in CI `postgresUrl` fails in place of returning undefined.
if (url === undefined) test.skip(`${name}: there is no PostgreSQL`);
else {
  const newStorage = () => postgresStorage(url);
  registerSuites(name, 'all', () =>
    CoreHost.start({ name, newStorage, loadWasm: readQuickJsWasm, createWorkers: createSandboxWorkers }),
  );
}
