import { describe, test } from 'vitest';
import { pageStoreSuite } from '../../../conformance/storage/suite.ts';
import { createFaultStore } from '../../../support/fault-store.ts';
import { postgresFactory, postgresUrl } from '../../../support/postgres/postgres.ts';
import { wrapped } from '../backends.ts';

const url = await postgresUrl();
const factory = postgresFactory(url ?? '');

describe.skipIf(url === undefined)('directly', () => {
  for (const { name, run } of pageStoreSuite('postgres', factory)) test(name, run);
});

describe.skipIf(url === undefined)('behind the fault wrapper', () => {
  const behindFaults = wrapped(factory, (store) => createFaultStore(store));
  for (const { name, run } of pageStoreSuite('postgres', behindFaults)) test(name, run);
});
