import { describe, test } from 'vitest';
import { pageStoreSuite } from '../../../conformance/storage/suite.ts';
import { createFaultStore } from '../../../support/fault-store.ts';
import { backendNamed, wrapped } from '../backends.ts';

const { factory } = backendNamed('lmdb');

describe('directly', () => {
  for (const { name, run } of pageStoreSuite('lmdb', factory)) test(name, run);
});

describe('behind the fault wrapper', () => {
  const behindFaults = wrapped(factory, (store) => createFaultStore(store));
  for (const { name, run } of pageStoreSuite('lmdb', behindFaults)) test(name, run);
});
