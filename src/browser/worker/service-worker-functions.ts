/**
 * The code of functions for the core in a service worker. Service workers can't start workers, so functions run in the thread that
 * answers requests, with a tenth of their limits.
 */

import { sandboxMemoryBytes } from '../../base/system/config.ts';
import type { DeferredCode } from '../../core/deferred/contract.ts';
import { createDeferredCode } from '../../core/deferred/deferred-code.ts';
import { createQuickJsSandbox } from '../../queries/sandbox/programs/quickjs-sandbox.ts';
import { fetchQuickJsWasm } from './quickjs-wasm.ts';

export const serviceWorkerFunctions: DeferredCode = createDeferredCode(({ config }) =>
  createQuickJsSandbox({ loadWasm: fetchQuickJsWasm, memoryBytes: sandboxMemoryBytes(config), sharesThread: true }),
);
