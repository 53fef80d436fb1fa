import { describeHttpSuite } from './http-conformance.ts';

// The worker's own way (`http-conformance-core.test.ts`) is for Chromium alone.
describeHttpSuite({
  way: 'settee.fetch',
  page: 'http-suite',
  parameters: { through: 'settee' },
  scopes: { firefox: 'all', webkit: 'all' },
});
