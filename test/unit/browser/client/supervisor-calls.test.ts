import { describe, expect, test, vi } from 'vitest';
import type { WireRequest } from '../../../../src/browser/bridge/wire.ts';
import { patient } from '../../../support/patience.ts';
import { createSupervisor, echo, endpoints, never, outgoing, useFakeWorkers, workers } from './supervised-workers.ts';

useFakeWorkers();

describe('a call', () => {
  test("that the worker can't carry out rejects with a TypeError", async () => {
    endpoints.next = () => ({ handle: () => Promise.reject(new Error('the stream broke')) });
    const failure = await createSupervisor()
      .handle(outgoing())
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(TypeError);
    expect(String(failure)).toContain('the stream broke');
  });

  test('that is aborted rejects at once, and is aborted in the worker', async () => {
    const abort = vi.fn();
    const handle = vi.fn((_request: WireRequest, _call?: number) => never());
    endpoints.next = () => ({ handle, abort });
    const controller = new AbortController();
    const answer = createSupervisor().handle(outgoing({ signal: controller.signal }));
    await vi.waitFor(() => expect(handle).toHaveBeenCalled(), patient);
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(answer).rejects.toBe(reason);
    await vi.waitFor(() => expect(abort).toHaveBeenCalledTimes(1), patient);
    expect(abort.mock.calls[0]?.[0]).toBe(handle.mock.calls[0]?.[1]);
  });

  test('that was aborted before does not wait for a worker', async () => {
    endpoints.next = () => ({ open: never });
    await expect(createSupervisor().handle(outgoing({ signal: AbortSignal.abort('no') }))).rejects.toBe('no');
    expect(workers).toEqual([]);
  });

  test('that was aborted before is never sent', async () => {
    const handle = vi.fn(echo);
    endpoints.next = () => ({ handle });
    const supervisor = createSupervisor();
    await expect(supervisor.handle(outgoing({ signal: AbortSignal.abort('no') }))).rejects.toBe('no');
    await supervisor.handle(outgoing());
    expect(handle).toHaveBeenCalledTimes(1);
  });
});
