import { readQuickJsWasm } from '../../../src/node/server/quickjs-wasm.ts';
import { createSandboxWorkers } from '../../../src/node/server/sandbox-workers.ts';
import { CoreHost } from '../../support/conformance/core-host.ts';
import { lmdbStorage } from '../../support/conformance/lmdb-storage.ts';
import { registerSuites } from '../../support/conformance/register.ts';

const name = 'core on LMDB';
registerSuites(name, 'all', () =>
  CoreHost.start({ name, newStorage: lmdbStorage, loadWasm: readQuickJsWasm, createWorkers: createSandboxWorkers }),
);
