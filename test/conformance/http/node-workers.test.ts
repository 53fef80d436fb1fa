import { NodeHost } from '../../support/conformance/node-host.ts';
import { registerSuites } from '../../support/conformance/register.ts';
import { listenThroughReader } from '../../support/conformance/workers-host.ts';

registerSuites('Node server with readers', 'transport', () => NodeHost.start({}, listenThroughReader));
