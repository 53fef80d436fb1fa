import { PassThrough } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { createProgress } from '../../../../src/node/terminal/progress.ts';

const hidesCursor = '\u001b[?25l';
const showsCursor = '\u001b[?25h';

afterEach(() => vi.restoreAllMocks());

const terminal = () => Object.assign(new PassThrough(), { isTTY: true, cursorTo: () => true, clearLine: () => true });

test('a bar shows the cursor again when it ends', () => {
  const stream = terminal();
  const listeners = process.listenerCount('SIGINT');
  const progress = createProgress(stream, 10);
  progress.update(5, '5 written');
  expect(String(stream.read())).toContain(hidesCursor);
  progress.end();
  expect(String(stream.read())).toContain(showsCursor);
  expect(process.listenerCount('SIGINT')).toBe(listeners);
});

test('a bar shows the cursor again when a signal ends the process, and lets it end', () => {
  const kill = vi.spyOn(process, 'kill').mockReturnValue(true);
  const stream = terminal();
  createProgress(stream, 10);
  stream.read();
  process.listeners('SIGINT').at(-1)?.('SIGINT');
  expect(String(stream.read())).toContain(showsCursor);
  expect(kill).toHaveBeenCalledWith(process.pid, 'SIGINT');
});

test('a bar accepts a changed total, and leaves signals to a caller that handles them', () => {
  const stream = terminal();
  const listeners = process.listenerCount('SIGINT');
  const progress = createProgress(stream, 10, { handlesSignals: true });
  expect(process.listenerCount('SIGINT')).toBe(listeners);
  progress.update(10, 'ten', 40);
  progress.end();
  expect(String(stream.read())).toContain('25 %  ten');
});
