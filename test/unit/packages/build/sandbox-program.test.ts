/// <reference path="../../../../src/queries/sandbox/isolates/virtual-modules.d.ts" />
import { SANDBOX_PROGRAM } from 'virtual:sandbox-program';
import { expect, test } from 'vitest';

test('the sandbox program is one small expression, without comments and white space', () => {
  expect(SANDBOX_PROGRAM).toMatch(/^\(function\(\)\{"use strict";.*\}\)\(\)$/s);
  expect(SANDBOX_PROGRAM).not.toMatch(/\/\*\*|\n {2}|\bimport\b|\bexport\b/);
  expect(SANDBOX_PROGRAM.length).toBeLessThan(30_000);
});

test('the sandbox program needs only the language until it is called', () => {
  const create: unknown = new Function(`return ${SANDBOX_PROGRAM}`)();
  expect(create).toBeTypeOf('function');
});
