/** The code that runs functions of documents: for a page's worker, which loads it on first use as `settee-functions.js`, and for a service worker. */

import { sandboxMemoryBytes } from '../../base/system/config.ts';
import type { Config, Log } from '../../base/system/contract.ts';
import type { DeferredCode } from '../../core/deferred/contract.ts';
import { createDeferredCode } from '../../core/deferred/deferred-code.ts';
import {
  createQuickJsSandbox,
  type SandboxPort,
  type SandboxWorkers,
} from '../../queries/sandbox/programs/quickjs-sandbox.ts';
import { fetchQuickJsWasm } from './quickjs-wasm.ts';
import { createSandboxPort, SANDBOX_FILE, type SandboxStart, sandboxCount } from './sandbox-start.ts';

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

/**
 * The workers in which functions of documents run: as many as the setting says, or as the browser has processors. Undefined if functions must
 * run in this thread.
 *
 * @param create starts one.
 */
export function createWorkers(
  config: Config,
  log: Log,
  create: () => SandboxPort = () => createSandboxPort(),
): SandboxWorkers | undefined {
  const count = sandboxCount(config);
  if (count === 0) return undefined;
  return {
    count,
    create,
    onUnavailable: (cause) =>
      log.error(
        `No worker for functions of documents can be started; they run in the worker that answers requests, with less time. ${SANDBOX_FILE} must ` +
          "be in the same folder as the worker's script, and worker-src of the Content-Security-Policy must allow it.",
        cause,
      ),
  };
}

/** Service workers can't start workers, so functions run in the thread that answers requests, with a tenth of their limits. */
export function createServiceWorkerFunctions(): DeferredCode {
  return createDeferredCode(({ config }) =>
    createQuickJsSandbox({ loadWasm: fetchQuickJsWasm, memoryBytes: sandboxMemoryBytes(config), sharesThread: true }),
  );
}
