import { afterEach, expect, test, vi } from 'vitest';
import { createConsoleLog } from '../../../../src/browser/worker/worker-endpoint.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

test.each(['error', 'info', 'debug'] as const)('an entry of level %s is shown as such in the console', (level) => {
  const shown = (['error', 'info', 'debug'] as const).map((name) => vi.spyOn(console, name).mockReturnValue());
  createConsoleLog('debug')[level]('The disk is full');
  const texts = shown.map((spy) => spy.mock.calls.map(([text]) => String(text)));
  expect(texts.flat()).toEqual([expect.stringMatching(new RegExp(`^Settee .* \\[${level}\\] The disk is full$`))]);
  expect(vi.mocked(console[level]).mock.calls.length).toBe(1);
});

test('only errors are shown in the console by default', () => {
  const shown = vi.spyOn(console, 'info').mockReturnValue();
  createConsoleLog().info('It is Tuesday');
  expect(shown).not.toHaveBeenCalled();
});
