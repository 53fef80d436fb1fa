/** Keeps the files of an app. `settee-sw.js` imports this script if there is a list of them; other apps never load it. */
import { createPrecaching } from '../src/browser/sw/precaching.ts';

Object.assign(globalThis, { setteePrecaching: createPrecaching });
