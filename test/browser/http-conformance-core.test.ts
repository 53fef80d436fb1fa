import { describeHttpSuite } from './http-conformance.ts';

describeHttpSuite({
  way: 'the core in a worker',
  page: 'worker-suite',
  parameters: { worker: 'core-suite' },
  scopes: { chromium: 'all', firefox: 'all', webkit: 'all' },
});
