import { once } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { SandboxRequest } from '../../../../src/browser/bridge/wire.ts';
import { PageSandboxes } from '../../../../src/browser/client/worker-supervisor.ts';
import { patient } from '../../../support/patience.ts';

const request: SandboxRequest = { type: 'SETTEE_SANDBOX', file: 'https://app.example/settee-sandbox.js' };
const ports: MessagePort[] = [];
let workers: FakeWorker[] = [];

/** A worker as the page that starts it sees it. */
class FakeWorker {
  readonly file: string;
  readonly sent: (readonly [unknown, readonly Transferable[]])[] = [];
  isTerminated = false;
  onerror: ((event: { message?: string; preventDefault(): void }) => void) | null = null;

  constructor(file: string) {
    if (file.startsWith('https://other.example')) throw new Error('the policy forbids it');
    this.file = file;
    workers.push(this);
  }

  postMessage(message: unknown, transfer: readonly Transferable[]): void {
    this.sent.push([message, transfer]);
  }

  terminate(): void {
    this.isTerminated = true;
  }
}

beforeEach(() => {
  workers = [];
  vi.stubGlobal('Worker', FakeWorker);
});

afterEach(() => {
  for (const port of ports.splice(0)) port.close();
  vi.unstubAllGlobals();
});

/** The far ends of the ports that come with a request, which the page's worker keeps. */
function start(sandboxes: PageSandboxes, file = request.file) {
  const messages = new MessageChannel();
  const control = new MessageChannel();
  ports.push(messages.port1, control.port1);
  sandboxes.start({ ...request, file }, [messages.port2, control.port2]);
  return { messages: messages.port2, control: control.port1 };
}

function nextReason(control: MessagePort): Promise<unknown> {
  return new Promise((resolve) => {
    control.onmessage = ({ data }) => resolve(data);
  });
}

test('a worker is started from the file, and gets the port for its messages', () => {
  const { messages } = start(new PageSandboxes());
  expect(workers.map(({ file }) => file)).toEqual(['https://app.example/settee-sandbox.js']);
  expect(workers[0]?.sent).toEqual([[null, [messages]]]);
});

test('the reason why a worker ended or could not be started is reported', async () => {
  const sandboxes = new PageSandboxes();
  const broken = start(sandboxes);
  workers[0]?.onerror?.({ message: 'out of memory', preventDefault: vi.fn() });
  expect(await nextReason(broken.control)).toBe('out of memory');
  const missing = start(sandboxes);
  workers[1]?.onerror?.({ preventDefault: vi.fn() });
  expect(await nextReason(missing.control)).toBe('https://app.example/settee-sandbox.js could not be loaded');
  const forbidden = start(sandboxes, 'https://other.example/settee-sandbox.js');
  expect(await nextReason(forbidden.control)).toBe('Error: the policy forbids it');
});

test('a worker ends when its owner ends it, and all workers end with their owner', async () => {
  const sandboxes = new PageSandboxes();
  const { control } = start(sandboxes);
  start(sandboxes);
  const closed = once(control, 'close');
  control.postMessage('end');
  await vi.waitFor(() => expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true, false]), patient);
  await closed;
  sandboxes.end();
  expect(workers.map(({ isTerminated }) => isTerminated)).toEqual([true, true]);
});
