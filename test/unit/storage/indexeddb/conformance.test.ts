import { describe, test } from 'vitest';
import { pageStoreSuite } from '../../../conformance/storage/suite.ts';
import { createFaultStore } from '../../../support/fault-store.ts';
import { backendNamed, indexedDbWithEarlyCommits, wrapped } from '../backends.ts';

const { factory } = backendNamed('indexeddb');

describe('directly', () => {
  for (const { name, run } of pageStoreSuite('indexeddb', factory)) test(name, run);
});

describe.each(['appends', 'none'] as const)('with early commits: %s', (earlyCommits) => {
  for (const { name, run } of pageStoreSuite('indexeddb', indexedDbWithEarlyCommits(earlyCommits))) test(name, run);
});

describe('behind the fault wrapper', () => {
  const behindFaults = wrapped(factory, (store) => createFaultStore(store));
  for (const { name, run } of pageStoreSuite('indexeddb', behindFaults)) test(name, run);
});

describe('with journal files', () => {
  const { factory: withFiles } = backendNamed('indexeddb with journal files');
  for (const { name, run } of pageStoreSuite('indexeddb', withFiles)) test(name, run);
});
