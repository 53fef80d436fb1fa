/** What Node provides for a core. */
import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { pipeline, Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { createGzip } from 'node:zlib';
import { systemClock, systemRandom } from '../../base/shared/clock.ts';
import { integerSetting, sandboxMemoryBytes } from '../../base/system/config.ts';
import type { Config, ConfigStore, Gzip, Log } from '../../base/system/contract.ts';
import { deferredAtHand } from '../../core/deferred/deferred-code.ts';
import {
  createQuickJsSandbox,
  type SandboxPort,
  type SandboxWorkers,
} from '../../queries/sandbox/programs/quickjs-sandbox.ts';
import { FairWork } from '../http/fair-work.ts';
import { FetchedIssuers } from '../network/token-issuers.ts';
import { BuiltPages } from './page-files.ts';

/** Responses whose first chunk is being produced: each may have read a quarter of a megabyte of documents for it. */
const MAX_BEGINNINGS = 64;

/** The options of a core that depend on the platform, except its storage and its network. */
export function createPlatform(config: ConfigStore, log: Log) {
  const memoryBytes = sandboxMemoryBytes(config);
  const workers = createSandboxWorkers(config, log);
  return {
    clock: systemClock,
    random: systemRandom,
    // `icu` is missing if Node was built without it.
    engine: `node ${process.versions.v8}/${process.versions['icu'] ?? 'none'}`,
    md5: findMd5(),
    gzip,
    tokenIssuers: new FetchedIssuers(config, log),
    pages: new BuiltPages(),
    beginnings: new FairWork(MAX_BEGINNINGS),
    deferred: deferredAtHand(createQuickJsSandbox({ loadWasm: readQuickJsWasm, workers, memoryBytes })),
  };
}

/** Beside the built server; if the server runs from its sources, as in tests, that of the last build. */
const FILES = ['sandbox-worker.js', '../../../dist/node/sandbox-worker.js'].map(
  (path) => new URL(path, import.meta.url),
);

/** What texts and responses may take in a thread in addition to the memory of its isolates. */
const HEAP_MB = 256;

/** The threads in which functions of documents run, as many as the setting says. Undefined if functions must run in this one. */
export function createSandboxWorkers(config: Config, log: Log): SandboxWorkers | undefined {
  const count = integerSetting(config, 'query_server_config', 'workers') ?? availableParallelism();
  const file = FILES.find((url) => existsSync(fileURLToPath(url)));
  if (count === 0 || file === undefined) return undefined;
  return {
    count,
    create: () => createThread(file),
    onUnavailable: (cause) =>
      log.error(
        'No thread for functions of documents can be started; they run in the thread of requests, with less time.',
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

/** Node's own gzip, which has levels; the web's `CompressionStream` has none. */
export const gzip: Gzip = (source, level) => {
  // A failure at either end ends the other, and surfaces where the result is read.
  return pipeline(Readable.from(source, { objectMode: false }), createGzip({ level }), () => undefined);
};

/** Node's own MD5, which takes half the time of the one in WebAssembly; undefined if the system (FIPS) forbids MD5. */
function findMd5(): ((bytes: Uint8Array) => string) | undefined {
  const md5 = (bytes: Uint8Array) => hash('md5', bytes);
  try {
    md5(new Uint8Array());
    return md5;
  } catch {
    return undefined;
  }
}

/** Reads the sandbox's WebAssembly from its package. */
export async function readQuickJsWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const path = createRequire(import.meta.url).resolve('@jitl/quickjs-wasmfile-release-sync/wasm');
  return new Uint8Array(await readFile(path));
}
