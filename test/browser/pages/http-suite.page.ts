import { newOutcome } from '../outcome.ts';
import { runHttpSuite } from '../suite-run.ts';
import { DirectHost, NetworkHost } from './settee-host.ts';

/** Runs the HTTP suite in this page: `?through=fetch` by the service worker, `?through=settee` by `settee.fetch`; `?scope=all` runs all cases. */
const outcome = newOutcome();
Reflect.set(globalThis, 'suiteOutcome', outcome);
const parameters = new URLSearchParams(location.search);
const isDirect = parameters.get('through') === 'settee';
const host = isDirect ? await DirectHost.start('/direct/') : await NetworkHost.start('/db/');
const scope = parameters.get('scope') === 'all' ? 'all' : 'transport';
await runHttpSuite(host, scope, outcome, undefined, parameters.get('only') ?? '');
