import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { askSecret } from '../../../../src/node/terminal/read-secret.ts';

/** A terminal at which somebody types. */
function terminal() {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const output = new PassThrough();
  return { input, output, shown: () => `${output.read() ?? ''}` };
}

test('a typed secret is returned, and not shown', async () => {
  const { input, output, shown } = terminal();
  const asked = askSecret(input, output, 'Password: ');
  input.write('pass wörx\b');
  input.write('d\r');
  expect(await asked).toBe('pass wörd');
  expect(shown()).toBe('Password: \n');
});

test('several secrets can be read one after another', async () => {
  const { input, output } = terminal();
  for (const secret of ['first', 'second']) {
    const asked = askSecret(input, output, '? ');
    input.write(`${secret}\r`);
    expect(await asked).toBe(secret);
  }
});

test('without a terminal no secret is asked for', async () => {
  const { output, shown } = terminal();
  expect(await askSecret(new PassThrough(), output, 'Password: ')).toBeUndefined();
  expect(shown()).toBe('');
});
