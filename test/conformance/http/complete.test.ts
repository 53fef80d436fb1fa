import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { suites } from './all.ts';

test('every case file of this folder is in the list of suites, once', () => {
  const none = ['all.ts', 'changes/steps.ts', 'replication/steps.ts'];
  const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .map((file) => file.replaceAll('\\', '/'))
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !none.includes(file))
    .map((file) => file.replaceAll('/', '-'));
  const names = suites.map((suite) => `${suite.name.replaceAll('_', '-')}.ts`);
  expect(names.toSorted()).toEqual(files.toSorted());
});

test('no two cases of a suite have the same name', () => {
  for (const suite of suites) {
    const names = suite.cases.map((each) => each.name);
    expect(new Set(names).size, suite.name).toBe(names.length);
  }
});
