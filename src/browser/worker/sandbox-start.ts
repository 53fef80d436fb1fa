/**
 * How a page's worker starts the workers in which functions of documents run. It starts the first one while the code that calls functions is
 * being loaded, so that both take no longer than the slower one. That code repeats, and reports, whatever fails in this first start.
 */

import { startBackgroundTimer } from '../../base/shared/clock.ts';
import { integerSetting, sandboxMemoryBytes } from '../../base/system/config.ts';
import type { Config } from '../../base/system/contract.ts';
import type { ToWorker } from '../../queries/sandbox/execution/wire.ts';
import { GUARDED_SECTION, parseGuardedNames } from '../../queries/sandbox/isolates/guarded-names.ts';
import { MAX_ISOLATES, shareMemory } from '../../queries/sandbox/isolates/memory-shares.ts';
import type { CompiledWasm } from '../../queries/sandbox/isolates/quickjs-instance.ts';
import type { SandboxPort } from '../../queries/sandbox/programs/quickjs-sandbox.ts';
import { scriptAddress } from '../bridge/script-address.ts';
import type { SandboxRequest } from '../bridge/wire.ts';
import { QUICKJS_FILE } from './quickjs-wasm.ts';

/** If no caller takes the worker within this time, it is ended. */
const IDLE_MS = 60_000;

interface Begun {
  /** Undefined if it could not be compiled. */
  readonly compiled: Promise<CompiledWasm | undefined>;
  readonly worker: FirstWorker;
}

export class SandboxStart {
  readonly #create: () => SandboxPort;
  #begun: Begun | undefined;
  #isTaken = false;

  constructor(create: () => SandboxPort) {
    this.#create = create;
  }

  /** Begins, unless it has begun. */
  begin(config: Config): void {
    if (this.#begun !== undefined) return;
    try {
      const count = sandboxCount(config);
      if (count === 0) return;
      const limits = { maxIsolates: MAX_ISOLATES, memory: shareMemory(sandboxMemoryBytes(config), count).worker };
      const worker = new FirstWorker(this.#create(), () => {
        this.#begun = undefined;
      });
      const compiled = compileQuickJs().catch(() => undefined);
      this.#begun = { compiled, worker };
      void compiled.then((done) => done && worker.start({ type: 'start', compiled: done, limits }));
    } catch {
      // The browser starts no workers.
    }
  }

  /** Returns QuickJS, if it is being compiled here, and can be. */
  compiled(): Promise<CompiledWasm | undefined> | undefined {
    return this.#begun?.compiled;
  }

  /** Returns the worker to the first caller, even if the worker has ended: its listener then learns of the end. Later calls return undefined. */
  take(): SandboxPort | undefined {
    if (this.#isTaken || this.#begun === undefined) return undefined;
    this.#isTaken = true;
    return this.#begun.worker.take();
  }
}

/** How many workers for functions of documents there may be: the setting's value, or the number of the browser's processors. */
export function sandboxCount(config: Config): number {
  return integerSetting(config, 'query_server_config', 'workers') ?? navigator.hardwareConcurrency;
}

/** Only for the build's own file. Fails if that is missing or another one, or the browser may not compile it. */
async function compileQuickJs(): Promise<CompiledWasm | undefined> {
  const response = await fetch(new URL(QUICKJS_FILE, self.location.href), { credentials: 'same-origin' });
  if (!response.ok) return undefined;
  const isTyped = response.headers.get('content-type') === 'application/wasm';
  const module = await (isTyped
    ? WebAssembly.compileStreaming(response)
    : WebAssembly.compile(await response.arrayBuffer()));
  const [content] = WebAssembly.Module.customSections(module, GUARDED_SECTION);
  return content && { module, ...parseGuardedNames(content) };
}

/** Keeps messages that arrive before there is a listener. */
class FirstWorker {
  readonly #port: SandboxPort;
  readonly #stopIdle: () => void;
  readonly #early: (() => void)[] = [];
  #onMessage: ((message: unknown) => void) | undefined;
  #onEnd: ((cause: unknown) => void) | undefined;
  #isStarted = false;

  /** `onIdle`: no caller took it. */
  constructor(port: SandboxPort, onIdle: () => void) {
    this.#port = port;
    this.#stopIdle = startBackgroundTimer(IDLE_MS, () => {
      port.end();
      onIdle();
    });
    port.listen(
      (message) =>
        this.#onMessage === undefined ? this.#early.push(() => this.#onMessage?.(message)) : this.#onMessage(message),
      (cause) => (this.#onEnd === undefined ? this.#early.push(() => this.#onEnd?.(cause)) : this.#onEnd(cause)),
    );
  }

  start(message: Extract<ToWorker, { type: 'start' }>): void {
    this.#isStarted = true;
    this.#port.post(message);
  }

  take(): SandboxPort {
    this.#stopIdle();
    return {
      isStarted: this.#isStarted,
      post: (message, handedOver) => this.#port.post(message, handedOver),
      listen: (onMessage, onEnd) => {
        this.#onMessage = onMessage;
        this.#onEnd = onEnd;
        // In a microtask, because the listener may need the port that `take` returns.
        queueMicrotask(() => {
          for (const tell of this.#early.splice(0)) tell();
        });
      },
      end: () => this.#port.end(),
    };
  }
}

export const SANDBOX_FILE = 'settee-sandbox.js';

/**
 * Starts a worker in which functions of documents run, from the file beside this worker's script, or from another one. It ends with this worker. Firefox occasionally stops a worker for good in the
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
