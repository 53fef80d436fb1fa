/** What an app's tests and stories get from `settee/msw`. Types only. */
import type { HttpHandler } from 'msw';

export interface HandlersOptions {
  /**
   * What the app passes to `start`: a path such as `/db/`, or another origin's address. A path answers on the page's own origin; if
   * there is no page, as in tests on Node, on every origin. Default: `/db/`.
   */
  readonly base?: string;
  /** Settings of the service by section and key, over its defaults. */
  readonly settings?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /**
   * Returns the content of `settee/files/settee-quickjs.wasm`, in which the functions of design documents run. Called when the first function
   * is called. Default: on Node it is read from the package; in a page there is none, and functions return 501.
   */
  readonly loadWasm?: () => Promise<Uint8Array<ArrayBuffer>>;
}

/** Goes where request handlers go: `setupServer(...handlers())`, `setupWorker(...handlers())`. */
export interface SetteeHandlers extends ReadonlyArray<HttpHandler> {
  /** Empties the database: the next request finds a new one. Requests in progress end with 503. */
  reset(): Promise<void>;
}
