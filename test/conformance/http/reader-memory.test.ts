import { createSandboxWorkers, readQuickJsWasm } from '../../../src/node/server/platform.ts';
import { CoreHost } from '../../support/conformance/core-host.ts';
import { memoryStorage } from '../../support/conformance/memory-storage.ts';
import { registerSuites } from '../../support/conformance/register.ts';

const name = 'reader of memory that another core owns';
registerSuites(name, 'all', () =>
  CoreHost.start({
    ...{ name, isReader: true, newStorage: memoryStorage },
    ...{ loadWasm: readQuickJsWasm, createWorkers: createSandboxWorkers },
  }),
);
