import { newOutcome } from '../outcome.ts';
import { runHttpSuite } from '../suite-run.ts';
import { DirectHost, startNetworkHost } from './settee-host.ts';

/** Runs the HTTP suite in this page: `?through=fetch` by the service worker, `?through=settee` by `settee.fetch`. */
const outcome = newOutcome();
Reflect.set(globalThis, 'suiteOutcome', outcome);
const isDirect = new URLSearchParams(location.search).get('through') === 'settee';
await runHttpSuite(isDirect ? await DirectHost.start('/direct/') : await startNetworkHost('/db/'), outcome);
