import { createSandboxWorkers, readQuickJsWasm } from '../../../src/node/server/platform.ts';
import { CoreHost } from '../../support/conformance/core-host.ts';
import { memoryStorage } from '../../support/conformance/memory-storage.ts';
import { registerSuites } from '../../support/conformance/register.ts';

const name = 'memory whose databases two cores own in turn';
registerSuites(name, 'all', () =>
  CoreHost.start({
    ...{ name, isShared: true, newStorage: memoryStorage },
    ...{ loadWasm: readQuickJsWasm, createWorkers: createSandboxWorkers },
  }),
);
