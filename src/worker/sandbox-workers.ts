/** The workers in which functions of documents run, as a page's worker has them. They end with it. */

import { scriptAddress } from '../bridge/script-address.ts';
import type { SandboxRequest } from '../bridge/wire/control.ts';
import type { SandboxPort, SandboxWorkers } from '../query-server/programs/quickjs-sandbox.ts';
import { integerSetting } from '../system/config.ts';
import type { Config, Log } from '../system/contract.ts';

const FILE = 'settee-sandbox.js';

/**
 * Nested workers: as many as the setting says, or the browser has processors for. Undefined where functions are to run in this thread.
 *
 * @param file where they are loaded from, if not beside the script of the page's worker.
 */
export function createNestedWorkers(config: Config, log: Log, file?: URL): SandboxWorkers | undefined {
  return createWorkers(config, log, () => createNestedWorker(file ?? besideThis()));
}

/** As `createNestedWorkers`, but started by the page. Firefox stops a worker for good, now and then, in the middle of `new Worker(…)`. */
export function createPageWorkers(config: Config, log: Log): SandboxWorkers | undefined {
  return createWorkers(config, log, () => createPageWorker(besideThis()));
}

function besideThis(): URL {
  return new URL(FILE, self.location.href);
}

function createWorkers(config: Config, log: Log, create: () => SandboxPort): SandboxWorkers | undefined {
  const count = integerSetting(config, 'query_server_config', 'workers') ?? navigator.hardwareConcurrency;
  if (count === 0) return undefined;
  return {
    count,
    create,
    onUnavailable: (cause) =>
      log.error(
        `No worker for functions of documents can be started; they run in that of requests, with less time. ${FILE} must lie beside the ` +
          "worker's script, and be allowed by worker-src of the Content-Security-Policy.",
        cause,
      ),
  };
}

function createNestedWorker(file: URL): SandboxPort {
  const worker = new Worker(scriptAddress(file), { type: 'module', name: 'settee sandbox' });
  return {
    post: (message, handedOver = []) => worker.postMessage(message, [...handedOver]),
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

function createPageWorker(file: URL): SandboxPort {
  const messages = new MessageChannel();
  const control = new MessageChannel();
  const request: SandboxRequest = { type: 'SETTEE_SANDBOX', file: file.href };
  self.postMessage(request, [messages.port2, control.port2]);
  return {
    post: (message, handedOver = []) => messages.port1.postMessage(message, [...handedOver]),
    listen: (onMessage, onEnd) => {
      messages.port1.onmessage = ({ data }) => onMessage(data);
      messages.port1.onmessageerror = () => onEnd('a message could not be read');
      control.port1.onmessage = ({ data }) => onEnd(String(data));
    },
    end: () => {
      control.port1.postMessage('end');
      messages.port1.close();
    },
  };
}
