/** The code that a page's worker loads on first use: the entry of `settee-functions.js`. */

import { sandboxMemoryBytes } from '../../base/system/config.ts';
import type { DeferredCode } from '../../core/deferred/contract.ts';
import { createDeferredCode } from '../../core/deferred/deferred-code.ts';
import { createQuickJsSandbox } from '../../queries/sandbox/programs/quickjs-sandbox.ts';
import { fetchQuickJsWasm } from './quickjs-wasm.ts';
import { createSandboxPort } from './sandbox-ports.ts';
import type { SandboxStart } from './sandbox-start.ts';
import { createWorkers } from './sandbox-workers.ts';

/** `start`: has begun, or begins when a function is first called. */
export const loaded = (start: SandboxStart): DeferredCode =>
  createDeferredCode(({ config, log }) =>
    createQuickJsSandbox({
      loadWasm: async () => {
        start.begin(config);
        return (await start.compiled()) ?? fetchQuickJsWasm();
      },
      workers: createWorkers(config, log, () => start.take() ?? createSandboxPort()),
      memoryBytes: sandboxMemoryBytes(config),
      sharesThread: true,
    }),
  );
