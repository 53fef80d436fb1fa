/** The workers in which functions of documents run: nested ones of a page's worker. They end with it. */
import type { SandboxPort, SandboxWorkers } from '../query-server/programs/quickjs-sandbox.ts';
import { integerSetting } from '../system/config.ts';
import type { Config, Log } from '../system/contract.ts';

const FILE = 'settee-sandbox.js';

/**
 * As many as the setting says, or the browser has processors for. Undefined where functions are to run in this thread.
 *
 * @param file where they are loaded from, if not beside the script of the page's worker.
 */
export function createNestedWorkers(config: Config, log: Log, file?: URL): SandboxWorkers | undefined {
  const count = integerSetting(config, 'query_server_config', 'workers') ?? navigator.hardwareConcurrency;
  if (count === 0) return undefined;
  return {
    count,
    create: () => createNestedWorker(file ?? new URL(FILE, self.location.href)),
    onUnavailable: (cause) =>
      log.error(
        `No worker for functions of documents can be started; they run in that of requests, with less time. ${FILE} must lie beside the ` +
          "worker's script, and be allowed by worker-src of the Content-Security-Policy.",
        cause,
      ),
  };
}

function createNestedWorker(file: URL): SandboxPort {
  const worker = new Worker(file, { type: 'module', name: 'settee sandbox' });
  return {
    post: (message) => worker.postMessage(message),
    listen: (onMessage, onEnd) => {
      worker.addEventListener('message', ({ data }) => onMessage(data));
      worker.addEventListener('messageerror', () => onEnd('a message could not be read'));
      worker.addEventListener('error', (event) => {
        event.preventDefault();
        // There is no message where the file could not be loaded.
        onEnd(event.message === undefined ? `${FILE} could not be loaded` : event.message);
      });
    },
    end: () => worker.terminate(),
  };
}
