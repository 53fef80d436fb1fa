/** A page whose workers are fakes, which do as a test says, and supervisors of them. */
import { expose } from 'comlink';
import { afterEach, beforeEach, vi } from 'vitest';
import type { WorkerOptions } from '../../../../src/browser/bridge/contract.ts';
import type { WireRequest, WireResponse } from '../../../../src/browser/bridge/wire.ts';
import type { Outgoing } from '../../../../src/browser/client/outgoing-request.ts';
import { WorkerSupervisor } from '../../../../src/browser/client/worker-supervisor.ts';
import { servePageCalls } from '../../../../src/browser/worker/page-calls.ts';

export const base = 'https://app.example/db/';
export const script = new URL('https://app.example/settee-worker.js');

/** The worker's side, as a test wants it. */
interface FakeEndpoint {
  open(options: WorkerOptions): Promise<void>;
  handle(request: WireRequest, call?: number): Promise<WireResponse>;
  abort(call: number): void;
  status(): Promise<unknown>;
  close(): Promise<void>;
}

/** What the next worker does; by default it echoes. */
export const endpoints: { next: () => Partial<FakeEndpoint> } = { next: () => ({}) };
export let workers: FakeWorker[] = [];
export let page: EventTarget;
export const supervisors: Pick<WorkerSupervisor, 'close'>[] = [];

/** A worker as a page sees it: messages, an error event, and an end without notice. */
export class FakeWorker extends EventTarget {
  onerror: ((event: { message?: string }) => void) | null = null;
  isTerminated = false;
  readonly #near: MessagePort;
  readonly #far: MessagePort;

  constructor() {
    super();
    const { port1, port2 } = new MessageChannel();
    this.#near = port1;
    this.#far = port2;
    const endpoint: FakeEndpoint = {
      open: async () => {},
      handle: never,
      abort: () => {},
      status: never,
      close: async () => {},
    };
    const offered = { ...endpoint, ...endpoints.next() };
    expose(offered, port2);
    servePageCalls(port2, offered);
    port1.onmessage = ({ data }) => this.dispatchEvent(new MessageEvent('message', { data }));
    workers.push(this);
  }

  set onmessage(listener: EventListener) {
    this.addEventListener('message', listener);
  }

  postMessage(message: unknown, transfer: Transferable[]): void {
    this.#near.postMessage(message, transfer);
  }

  terminate(): void {
    this.isTerminated = true;
    this.#near.close();
    this.#far.close();
  }
}

export function never(): Promise<never> {
  return new Promise(() => {});
}

export async function echo({ method, url }: WireRequest): Promise<WireResponse> {
  return { status: 200, headers: {}, body: `${method} ${url}` };
}

export function outgoing(init: Partial<Outgoing> = {}): Outgoing {
  return { method: 'GET', url: `${base}n/a`, headers: {}, body: null, signal: null, redirect: 'follow', ...init };
}

export function createSupervisor(onLoss = () => {}, onOutdated = () => {}, onCleared = () => {}): WorkerSupervisor {
  const supervisor = new WorkerSupervisor(script, { base, protocol: 1 }, { onLoss, onOutdated, onCleared });
  supervisors.push(supervisor);
  return supervisor;
}

/** Gives each test of a file a page of its own whose workers are fakes, and closes its supervisors. */
export function useFakeWorkers(): void {
  beforeEach(() => {
    workers = [];
    page = new EventTarget();
    endpoints.next = () => ({ handle: echo });
    vi.stubGlobal('Worker', FakeWorker);
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  });

  afterEach(async () => {
    for (const supervisor of supervisors.splice(0)) await supervisor.close();
    vi.unstubAllGlobals();
  });
}
