import { describeHttpSuite } from './http-conformance.ts';

describeHttpSuite({ way: 'settee.fetch', page: 'http-suite', parameters: { through: 'settee' } });
