import { NodeHost } from '../../support/conformance/node-host.ts';
import { registerSuites } from '../../support/conformance/register.ts';

registerSuites('Node server', 'transport', () => NodeHost.start());
