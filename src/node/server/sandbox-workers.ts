/** The threads in which functions of documents run. */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { integerSetting } from '../../base/system/config.ts';
import type { Config, Log } from '../../base/system/contract.ts';
import type { SandboxPort, SandboxWorkers } from '../../queries/sandbox/programs/quickjs-sandbox.ts';

/** Beside the built server; if the server runs from its sources, as in tests, that of the last build. */
const FILES = ['sandbox-worker.js', '../../../dist/node/sandbox-worker.js'].map(
  (path) => new URL(path, import.meta.url),
);

/** What texts and responses may take in a thread in addition to the memory of its isolates. */
const HEAP_MB = 256;

/** As many threads as the setting says. Undefined if functions must run in this one. */
export function createSandboxWorkers(config: Config, log: Log): SandboxWorkers | undefined {
  const count = integerSetting(config, 'query_server_config', 'workers') ?? availableParallelism();
  const file = FILES.find((url) => existsSync(fileURLToPath(url)));
  if (count === 0 || file === undefined) return undefined;
  return {
    count,
    create: () => createThread(file),
    onUnavailable: (cause) =>
      log.error(
        'No thread for functions of documents can be started; they run in that of requests, with less time.',
        cause,
      ),
  };
}

function createThread(file: URL): SandboxPort {
  // The process may have options that threads refuse (`--input-type`), and none is needed for this file.
  const thread = new Worker(file, { execArgv: [], resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
  return {
    post: (message, handedOver = []) => thread.postMessage(message, handedOver),
    listen: (onMessage, onEnd) => {
      thread.on('message', onMessage);
      thread.on('error', onEnd);
      thread.on('exit', (code) => onEnd(`it ended with ${code}`));
    },
    end: () => void thread.terminate(),
  };
}
