/** The workers for functions of documents that the page starts for its own worker, if that can't start them itself. */

import { scriptAddress } from '../bridge/script-address.ts';
import type { SandboxRequest } from '../bridge/wire/control.ts';

export class PageSandboxes {
  readonly #workers = new Set<Worker>();

  /** The two ports that come with the request. */
  start({ file }: SandboxRequest, [messages, control]: readonly MessagePort[]): void {
    if (messages === undefined || control === undefined) return;
    try {
      const worker = new Worker(scriptAddress(new URL(file)), { type: 'module', name: 'settee sandbox' });
      this.#workers.add(worker);
      worker.onerror = (event) => {
        event.preventDefault();
        // There is no message if the file could not be loaded.
        control.postMessage(event.message ?? `${file} could not be loaded`);
      };
      control.onmessage = () => {
        this.#workers.delete(worker);
        worker.terminate();
        control.close();
      };
      worker.postMessage(null, [messages]);
    } catch (error) {
      control.postMessage(String(error));
    }
  }

  /** Ends them all, as they end by themselves with a worker that started them. */
  end(): void {
    for (const worker of this.#workers) worker.terminate();
    this.#workers.clear();
  }
}
