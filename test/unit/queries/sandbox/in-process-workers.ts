import { createSandboxWorker } from '../../../../src/queries/sandbox/execution/sandbox-worker.ts';
import type { FromWorker, ToWorker } from '../../../../src/queries/sandbox/execution/wire.ts';
import type { SandboxPort, SandboxWorkers } from '../../../../src/queries/sandbox/programs/quickjs-sandbox.ts';

/** What a test does to a worker. */
export interface WorkerControl {
  /** Messages to the worker are dropped from now on, as where its thread is stuck. */
  isStuck: boolean;
  isEnded: boolean;
  /** Types of the messages that it was posted. */
  readonly received: string[];
  crash(): void;
}

/** Workers that are in the test's own thread. Messages are copied, as between threads. */
export class InProcessWorkers implements SandboxWorkers {
  readonly count: number;
  readonly started: WorkerControl[] = [];
  readonly unavailable: unknown[] = [];
  /** Set where no worker can be made. */
  failure: Error | undefined;

  constructor(count: number) {
    this.count = count;
  }

  onUnavailable(cause: unknown): void {
    this.unavailable.push(cause);
  }

  create(): SandboxPort {
    if (this.failure !== undefined) throw this.failure;
    let onMessage: (message: unknown) => void = () => undefined;
    let onEnd: (cause: unknown) => void = () => undefined;
    const control: WorkerControl = {
      isStuck: false,
      isEnded: false,
      received: [],
      crash: () => onEnd(new Error('crashed')),
    };
    this.started.push(control);
    const worker = createSandboxWorker((message: FromWorker) => {
      if (!control.isEnded && !control.isStuck) setImmediate(() => onMessage(structuredClone(message)));
    });
    return {
      post: (message, handedOver = []) => {
        const copy = structuredClone(message, { transfer: [...handedOver] }) as ToWorker;
        control.received.push(copy.type);
        setImmediate(() => {
          if (!control.isEnded && !control.isStuck) worker.receive(copy);
        });
      },
      listen: (listener, endListener) => {
        onMessage = listener;
        onEnd = endListener;
      },
      end: () => {
        control.isEnded = true;
      },
    };
  }
}
