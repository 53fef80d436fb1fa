import { type SetupServer, setupServer } from 'msw/node';
import { handlers, type SetteeHandlers } from '../../../src/browser/msw/index.ts';
import { readQuickJsWasm } from '../../../src/node/server/platform.ts';
import { FetchHost } from '../../support/conformance/fetch-host.ts';
import type { Settings } from '../../support/conformance/host.ts';
import { registerSuites } from '../../support/conformance/register.ts';

const name = 'handlers of Mock Service Worker';
const base = 'http://settee.test/db';

/** Services with settings of their own answer beside the first one, each below a base of its own. */
class MswHost extends FetchHost {
  readonly #server: SetupServer;
  static #variants = 0;

  private constructor(server: SetupServer, baseUrl: string, service: SetteeHandlers, isFirst: boolean) {
    super({
      name,
      baseUrl,
      fetch: (request) => fetch(request),
      capabilities: {
        'function-threads': 'a test that mocks its requests has one thread',
        'restart-request': 'what is kept in memory would be gone; `reset` does that',
        settings: true,
      },
      close: async () => {
        if (isFirst) server.close();
        await service.reset();
      },
    });
    this.#server = server;
  }

  static start(): MswHost {
    const service = handlers({ base, loadWasm: readQuickJsWasm });
    const server = setupServer(...service);
    server.listen({ onUnhandledRequest: 'error' });
    return new MswHost(server, base, service, true);
  }

  async withSettings(settings: Settings): Promise<MswHost> {
    MswHost.#variants += 1;
    const own = `http://settee.test/variant-${MswHost.#variants}`;
    const service = handlers({ base: own, settings, loadWasm: readQuickJsWasm });
    this.#server.use(...service);
    return new MswHost(this.#server, own, service, false);
  }
}

registerSuites(name, 'transport', async () => MswHost.start());
