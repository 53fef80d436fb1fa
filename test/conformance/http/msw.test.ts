import { setupServer } from 'msw/node';
import { handlers } from '../../../src/msw/index.ts';
import { readQuickJsWasm } from '../../../src/node/server/quickjs-wasm.ts';
import { FetchHost } from '../../support/conformance/fetch-host.ts';
import { registerSuites } from '../../support/conformance/register.ts';

const name = 'handlers of Mock Service Worker';
const base = 'http://settee.test/db';

registerSuites(name, async () => {
  const settee = handlers({ base, loadWasm: readQuickJsWasm });
  const server = setupServer(...settee);
  server.listen({ onUnhandledRequest: 'error' });
  return new FetchHost({
    name,
    baseUrl: base,
    fetch: (request) => fetch(request),
    capabilities: { 'function-threads': 'a test that mocks its requests has one thread' },
    close: async () => {
      server.close();
      await settee.reset();
    },
  });
});
