import { systemClock, systemRandom } from '../../../src/base/shared/clock.ts';
import { silentLog } from '../../../src/base/system/log.ts';
import { createConfig } from '../../../src/core/config/config-store.ts';
import { createCore } from '../../../src/core/core.ts';
import { deferredAtHand } from '../../../src/core/deferred/deferred-code.ts';
import { createFetch } from '../../../src/http/fetch-adapter.ts';
import { createSandboxWorkers, readQuickJsWasm } from '../../../src/node/server/platform.ts';
import { createQuickJsSandbox } from '../../../src/queries/sandbox/programs/quickjs-sandbox.ts';
import { createMemoryPageStore } from '../../../src/storage/memory-page-store.ts';
import { FetchHost } from '../../support/conformance/fetch-host.ts';
import type { Settings } from '../../support/conformance/host.ts';
import { registerSuites } from '../../support/conformance/register.ts';

const name = 'core through its fetch adapter';

class AdapterHost extends FetchHost {
  static async start(settings: Settings = {}): Promise<AdapterHost> {
    const workers = createSandboxWorkers(createConfig(settings), silentLog);
    const core = await createCore({
      storage: createMemoryPageStore(),
      clock: systemClock,
      random: systemRandom,
      config: settings,
      deferred: deferredAtHand(createQuickJsSandbox({ loadWasm: readQuickJsWasm, workers })),
    });
    return new AdapterHost({
      name,
      baseUrl: 'http://settee.test',
      fetch: createFetch(core.handle),
      capabilities: {
        // No network lies between: what the core answers is seen as it is, and nothing is added to a request.
        'manual-redirect': true,
        'bare-accept': true,
        'restart-request': 'nobody is there who could open the core anew',
        settings: true,
      },
      close: () => core.close(),
    });
  }

  withSettings(settings: Settings): Promise<AdapterHost> {
    return AdapterHost.start(settings);
  }
}

registerSuites(name, 'transport', () => AdapterHost.start());
