/** The entry of the workers in which functions of documents run: `settee-sandbox.js`, started by a page's worker, or by its page. */
import { createSandboxWorker } from '../../queries/sandbox/execution/sandbox-worker.ts';

/** For a page's worker at the other end, if the page has started this one. */
function serve(port: MessagePort): void {
  const served = createSandboxWorker((message) => port.postMessage(message));
  port.onmessage = ({ data }) => served.receive(data);
}

/** Exported so that readers of the built file take it for a module: sources of functions in it mention CommonJS. */
export const worker = createSandboxWorker((message) => self.postMessage(message));

addEventListener('message', ({ data, ports: [port] }) => {
  if (port === undefined) worker.receive(data);
  else serve(port);
});
