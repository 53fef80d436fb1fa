/** What a page's worker loads on first use: the entry of `settee-functions.js`. */
import type { CreateFunctions } from '../deferred/contract.ts';
import { createFunctionService } from '../deferred/function-service.ts';
import { createQuickJsSandbox } from '../query-server/programs/quickjs-sandbox.ts';
import type { MaybePromise } from '../shared/maybe-promise.ts';
import { fetchQuickJsWasm } from './quickjs-wasm.ts';
import { type TakeCookies, takeCookies } from './set-cookie.ts';

export interface BrowserFunctions {
  readonly createFunctions: CreateFunctions;
  readonly takeCookies: TakeCookies;
}

/** Gives what is loaded on first use; at once where it is at hand. Called again after a failure. */
export type LoadBrowserFunctions = () => MaybePromise<BrowserFunctions>;

export const loaded: BrowserFunctions = {
  createFunctions: (parts) => createFunctionService(parts, createQuickJsSandbox({ loadWasm: fetchQuickJsWasm })),
  takeCookies,
};
