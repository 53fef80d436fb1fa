import { NodeHost } from '../../support/conformance/node-host.ts';
import { registerSuites } from '../../support/conformance/register.ts';
import { listenThroughReaders } from '../../support/conformance/workers-host.ts';

registerSuites('Node server with readers', 'transport', () => NodeHost.start({}, listenThroughReaders));
