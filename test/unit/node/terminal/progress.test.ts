import { PassThrough } from 'node:stream';
import { afterEach, expect, test, vi } from 'vitest';
import { createProgress, formatBytes } from '../../../../src/node/terminal/progress.ts';

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

test.each([
  [0, '0 bytes'],
  [1, '1 byte'],
  [999, '999 bytes'],
  [1000, '1.0 kB'],
  [999_949, '999.9 kB'],
  [999_950, '1.0 MB'],
  [20_100_000, '20.1 MB'],
  [4_294_967_296, '4.3 GB'],
  [5e15, '5000.0 TB'],
])('%i bytes are shown as %s', (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});
