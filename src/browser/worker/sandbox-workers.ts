/** The workers in which functions of documents run, as a page's worker uses them. */

import type { Config, Log } from '../../base/system/contract.ts';
import type { SandboxPort, SandboxWorkers } from '../../queries/sandbox/programs/quickjs-sandbox.ts';
import { createSandboxPort, SANDBOX_FILE } from './sandbox-ports.ts';
import { sandboxCount } from './sandbox-start.ts';

/**
 * As many as the setting says, or as the browser has processors. Undefined if functions must run in this thread.
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
        `No worker for functions of documents can be started; they run in that of requests, with less time. ${SANDBOX_FILE} must lie beside the ` +
          "worker's script, and be allowed by worker-src of the Content-Security-Policy.",
        cause,
      ),
  };
}
