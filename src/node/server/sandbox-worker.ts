/** The entry of the threads in which functions of documents run: `node/sandbox-worker.js`. */
import { setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { must } from '../../base/shared/assert.ts';
import { createSandboxWorker } from '../../queries/sandbox/execution/sandbox-worker.ts';

/** Requests get a processor before functions do. On systems other than Linux this would be the priority of the whole process. */
if (process.platform === 'linux') setPriority(0, 5);

const port = must(parentPort, 'this file is the entry of a thread');
const worker = createSandboxWorker((message) => port.postMessage(message));
port.on('message', (message) => worker.receive(message));
