/** The threads in which functions of documents run. */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { SandboxPort, SandboxWorkers } from '../../query-server/programs/quickjs-sandbox.ts';
import { createConfig, integerSetting, type Settings } from '../../system/config.ts';
import type { Log } from '../../system/contract.ts';

/** Beside the built server. Where the server runs from its sources there is none, and functions run in the server's own thread. */
const file = new URL('sandbox-worker.js', import.meta.url);

/** What texts and answers may take in a thread beside the memory of its isolates. */
const HEAP_MB = 256;

/** As many threads as the setting says. Undefined where functions are to run in this one. */
export function createSandboxWorkers(settings: Settings, log: Log): SandboxWorkers | undefined {
  const count = integerSetting(createConfig(settings), 'query_server_config', 'workers') ?? availableParallelism();
  if (count === 0 || !existsSync(fileURLToPath(file))) return undefined;
  return {
    count,
    create: createThread,
    onUnavailable: (cause) =>
      log.error(
        'No thread for functions of documents can be started; they run in that of requests, with less time.',
        cause,
      ),
  };
}

function createThread(): SandboxPort {
  const thread = new Worker(file, { resourceLimits: { maxOldGenerationSizeMb: HEAP_MB } });
  return {
    post: (message) => thread.postMessage(message),
    listen: (onMessage, onEnd) => {
      thread.on('message', onMessage);
      thread.on('error', onEnd);
      thread.on('exit', (code) => onEnd(`it ended with ${code}`));
    },
    end: () => void thread.terminate(),
  };
}
