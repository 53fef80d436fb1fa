/** How a page's worker starts the workers in which functions of documents run. They end with it. */

import type { SandboxPort } from '../../queries/sandbox/programs/quickjs-sandbox.ts';
import { scriptAddress } from '../bridge/script-address.ts';
import type { SandboxRequest } from '../bridge/wire/control.ts';

export const SANDBOX_FILE = 'settee-sandbox.js';

/**
 * Starts one from the file beside this worker's script, or from another one. Firefox occasionally stops a worker for good in the
 * middle of `new Worker(…)`, so that in Firefox the page starts it.
 */
export function createSandboxPort(file = new URL(SANDBOX_FILE, self.location.href)): SandboxPort {
  const isFirefox = navigator.userAgent.includes('Firefox/');
  return isFirefox ? createPageWorker(file) : createNestedWorker(file);
}

export function createNestedWorker(file: URL): SandboxPort {
  const worker = new Worker(scriptAddress(file), { type: 'module', name: 'settee sandbox' });
  return {
    post: (message, handedOver = []) => worker.postMessage(message, [...handedOver]),
    listen: (onMessage, onEnd) => {
      worker.addEventListener('message', ({ data }) => onMessage(data));
      worker.addEventListener('messageerror', () => onEnd('a message could not be read'));
      worker.addEventListener('error', (event) => {
        event.preventDefault();
        // There is no message if the file could not be loaded.
        onEnd(event.message === undefined ? `${SANDBOX_FILE} could not be loaded` : event.message);
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
