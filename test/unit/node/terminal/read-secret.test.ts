import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { askSecret } from '../../../../src/node/terminal/read-secret.ts';

/** A terminal at which somebody types. */
function terminal() {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const output = new PassThrough();
  return { input, output, shown: () => `${output.read() ?? ''}` };
}

test('what is typed is given, and shown to nobody', async () => {
  const { input, output, shown } = terminal();
  const asked = askSecret(input, output, 'Password: ');
  input.write('pass wörx\b');
  input.write('d\r');
  expect(await asked).toBe('pass wörd');
  expect(shown()).toBe('Password: \n');
});

test('one after another may be asked for', async () => {
  const { input, output } = terminal();
  for (const secret of ['first', 'second']) {
    const asked = askSecret(input, output, '? ');
    input.write(`${secret}\r`);
    expect(await asked).toBe(secret);
  }
});

test('where there is no terminal nobody is asked', async () => {
  const { output, shown } = terminal();
  expect(await askSecret(new PassThrough(), output, 'Password: ')).toBeUndefined();
  expect(shown()).toBe('');
});
