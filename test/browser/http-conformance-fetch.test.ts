import { describeHttpSuite } from './http-conformance.ts';

describeHttpSuite({ way: 'fetch through the service worker', page: 'http-suite', parameters: { through: 'fetch' } });
