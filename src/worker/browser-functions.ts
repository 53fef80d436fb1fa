/** The code that a page's worker loads on first use: the entry of `settee-functions.js`. */
import type { DeferredCode } from '../deferred/contract.ts';
import { createDeferredCode } from '../deferred/deferred-code.ts';
import { createQuickJsSandbox } from '../query-server/programs/quickjs-sandbox.ts';
import { sandboxMemoryBytes } from '../system/config.ts';
import { fetchQuickJsWasm } from './quickjs-wasm.ts';
import { createNestedWorkers, createPageWorkers } from './sandbox-workers.ts';

const isFirefox = navigator.userAgent.includes('Firefox/');

export const loaded: DeferredCode = createDeferredCode(({ config, log }) =>
  createQuickJsSandbox({
    loadWasm: fetchQuickJsWasm,
    workers: isFirefox ? createPageWorkers(config, log) : createNestedWorkers(config, log),
    memoryBytes: sandboxMemoryBytes(config),
    sharesThread: true,
  }),
);
