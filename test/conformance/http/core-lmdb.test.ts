import { createSandboxWorkers, readQuickJsWasm } from '../../../src/node/server/platform.ts';
import { CoreHost } from '../../support/conformance/core-host.ts';
import { lmdbStorage } from '../../support/conformance/lmdb-storage.ts';
import { registerSuites } from '../../support/conformance/register.ts';

const name = 'core on LMDB';
registerSuites(name, 'all', () =>
  CoreHost.start({ name, newStorage: lmdbStorage, loadWasm: readQuickJsWasm, createWorkers: createSandboxWorkers }),
);
