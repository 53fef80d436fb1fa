/**
 * What a page gets from `settee`: how to start a service and what can be done with it. Types only.
 */

export interface StartOptions {
  /**
   * Where the database answers: a path such as `/db/`, or another origin's address such as `https://db.example.com/`, where no server needs
   * to listen. Pages with the same base share one storage. Not a path that has the site's own files below it: they would be unreachable.
   */
  readonly base: string;
  /** Address of `settee-worker.js`, on the page's own origin. Default: in the site's root, with Vite below its `base`. */
  readonly worker?: string | URL;
  /**
   * Address of the service worker, on the page's own origin, used unchanged: for the ready-made one with its base as a query
   * (`/app/settee-sw.js?base=/db/`, and `&settings={"svc":{…}}` if it needs any), else the app's own, which uses `settee/sw`.
   * `false`: none, only `settee.fetch` answers. Default: `settee-sw.js` in the site's root, with Vite below its `base`.
   */
  readonly serviceWorker?: string | URL | false;
  /**
   * When `start` resolves. `control`: when the database answers and a service worker controls the page, so that plain `fetch` reaches it.
   * `database`: as soon as the database answers `settee.fetch`; the service worker starts in the background, and `settee.controlled` reports
   * the result. Default: `control`.
   */
  readonly waitFor?: 'control' | 'database';
  /**
   * Replaces the page's own `fetch` with `settee.fetch`, at once and until `close()`: for code that can't be given another one.
   * Requests below the base wait until the database answers. What does not go through the page's `fetch` stays with the service
   * worker: XMLHttpRequest, EventSource, images, forms, links, and pages that don't call `start`. `navigator.sendBeacon` is replaced with it.
   * Default: false.
   */
  readonly replaceFetch?: boolean;
  /** Asks the browser to keep the data when storage runs short, like `persist()`. `start` does not wait for a user's answer. Default: false. */
  readonly persist?: boolean;
  /**
   * Settings of the service by section and key, over its defaults. The settings of the tab that owns the storage take effect, or if no page is
   * open, those of the service worker, which has its own.
   */
  readonly settings?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** What the worker writes to the console. Default: `error`. */
  readonly logLevel?: 'error' | 'warning' | 'info' | 'debug' | 'request';
}

/** A bearer token (RFC 6750), such as a JWT. */
export interface BearerToken {
  readonly token: string;
  /**
   * Milliseconds since the epoch. The function is asked for another one before that. Default: what a JWT says in `exp`; another token is used
   * until the server refuses it.
   */
  readonly expires?: number;
}

/** Returns undefined if there is none at present, as when no one is logged in. If it fails, people see the message of its Error. */
export type TokenProvider = () => Promise<BearerToken | undefined> | BearerToken | undefined;

export interface Settee {
  /** Absolute, with a slash at its end. */
  readonly base: string;
  /**
   * `fetch` straight to the worker: the same requests and responses as through the service worker, without it in between, with streams
   * both ways, back-pressure and cancellation. Relative addresses resolve against the document's; what is not below the base goes to the
   * network. Works detached: `const { fetch } = settee`.
   *
   * The service worker carries out a write with `keepalive: true`, even if the page is gone by then. Rejects with a TypeError that says
   * what to do instead if there is no service worker, beyond 64 KiB, and for a stream.
   */
  readonly fetch: (input: Request | URL | string, init?: RequestInit) => Promise<Response>;
  /**
   * Resolves when it is known whether plain `fetch`, images, EventSource and the like reach the database in this page: true when a service
   * worker controls it; false if the browser provides none, as in private windows of Firefox, or `serviceWorker` is false. Rejects
   * with an Error that says what prevents it, as `start` does unless it waits only for the database.
   */
  readonly controlled: Promise<boolean>;
  status(): Promise<SetteeStatus>;
  /**
   * Provides bearer tokens for replications with databases at or below `url`, whose `auth` is `{"bearer": {"provided": true}}`. `provide` is
   * called when a replication needs a token, before one expires, and after the server has answered 401; never twice at the same time, and
   * by whichever tab or service worker runs the replications. While no open page provides a token, they wait as `unauthorized`.
   *
   * Returns a function that removes it, as when the user logs out: tokens that were provided are no longer used then. `close()` removes it,
   * too. Throws a TypeError if `url` is not an address.
   */
  credentials(url: string | URL, provide: TokenProvider): () => void;
  /** Asks the browser to keep the data when storage runs short. Resolves to whether it will; false if it can't be asked. */
  persist(): Promise<boolean>;
  /**
   * Looks for a new service worker and lets it take over: bodies that are open through the old one get three seconds, then fail.
   * Resolves to whether the page should be reloaded at the next opportunity: a new one controls it now, or it is outdated. Also false if
   * the old one does not end within ten seconds of that, because a page stopped reading a body: the new one takes over by itself
   * when that body is over, or its page is gone. Rejects when the new script is not available, as without a network.
   */
  update(): Promise<boolean>;
  /**
   * Ends this call's use of the service. The last one for a base finishes what is in progress and stops this page's worker. The service worker
   * stays.
   */
  close(): Promise<void>;
  /**
   * `update` reports a new version: of the service worker, which waits for `update()` to let it take over, or of the app in another
   * tab, which makes this page outdated. A version that existed before the page was loaded is reported as soon as `start` has resolved: a listener
   * that is added right then misses none.
   */
  addEventListener(type: 'update', listener: (event: Event) => void, options?: AddEventListenerOptions): void;
  removeEventListener(type: 'update', listener: (event: Event) => void): void;
}

export interface SetteeStatus {
  /** Whether this page's worker owns the storage, uses that of another tab, or waits for an owner. */
  readonly role: 'owner' | 'follower' | 'waiting';
  readonly engine: 'indexeddb';
  /** Version of the worker. */
  readonly version: string;
  /** Whether a service worker answers plain `fetch` in this page. */
  readonly controlled: boolean;
  /**
   * Why none does, and what to do: the browser has none here, `start` was told to use none, or it could not be started. Undefined if one
   * does, and while it is starting.
   */
  readonly uncontrolledBecause: string | undefined;
  /**
   * Whether a newer version of the app that this page can't work with runs in another tab, or as the service worker: reload the page. Until then
   * `fetch` asks the service worker if one controls the page, and else returns 503.
   */
  readonly outdated: boolean;
  /** Whether a new version of the service worker waits for `update()`. */
  readonly updateWaiting: boolean;
  /** Whether the browser keeps the data when storage runs short; undefined if it does not say. */
  readonly persisted: boolean | undefined;
  /** Bytes that this origin may use, as the browser estimates; undefined if it does not say. */
  readonly quota: number | undefined;
  /** Bytes that this origin uses, as the browser estimates; undefined if it does not say. */
  readonly usage: number | undefined;
}
