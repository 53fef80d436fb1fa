/** The entry of the workers in which functions of documents run: `settee-sandbox.js`, started by a page's worker. */
import { createSandboxWorker } from '../query-server/execution/sandbox-worker.ts';

const worker = createSandboxWorker((message) => self.postMessage(message));
addEventListener('message', ({ data }) => worker.receive(data));
