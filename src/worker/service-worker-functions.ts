/**
 * The code of functions for the core in a service worker. Service workers can't start workers, so that functions run in the thread that
 * answers requests, with a tenth of their limits.
 */
import type { DeferredCode } from '../deferred/contract.ts';
import { createDeferredCode } from '../deferred/deferred-code.ts';
import { createQuickJsSandbox } from '../query-server/programs/quickjs-sandbox.ts';
import { sandboxMemoryBytes } from '../system/config.ts';
import { fetchQuickJsWasm } from './quickjs-wasm.ts';

export const serviceWorkerFunctions: DeferredCode = createDeferredCode(({ config }) =>
  createQuickJsSandbox({ loadWasm: fetchQuickJsWasm, memoryBytes: sandboxMemoryBytes(config), sharesThread: true }),
);
