/**
 * `settee-utils/settee-sw-utils.js`, beside the files of the administration page: a service worker that has the page imports this script. It is
 * built with the page, so that its list is that of the files.
 */
import { AdministrationPage } from '../src/browser/sw/administration-page.ts';
import type { BuiltPage, PageScript } from '../src/browser/sw/contract.ts';

declare const self: ServiceWorkerGlobalScope;

/** Put here by the build (src/packages/build/admin-page.ts). */
declare const __BUILT_PAGE__: BuiltPage;

const setteeUtils: PageScript = {
  createPage: (options) => new AdministrationPage(__BUILT_PAGE__, self, options),
};

Object.assign(globalThis, { setteeUtils });
