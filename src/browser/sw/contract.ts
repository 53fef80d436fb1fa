/** What an app's own service worker gets from `settee/sw`, and what that gets from the script with the core. */
import type { Instance, WorkerOptions } from '../bridge/contract.ts';
import type { ReplicationMessage } from '../bridge/wire.ts';

export interface ServiceWorkerOptions {
  /** The same as the page passes to `start`: a path such as `/db/`, or another origin's address. */
  readonly base: string;
  /** Address of `settee-sw-core.js`, relative to the service worker's own. Default: beside it. */
  readonly core?: string | URL;
  /**
   * Serves the administration page at `_utils/` below the base: `true` if its folder, `settee/dist/utils`, lies beside the service worker under the
   * name `settee-utils`, else the address of the script `settee-sw-utils.js` in it, relative to the service worker's own. Default: no page.
   */
  readonly utils?: boolean | string | URL | undefined;
  /** Settings by section and key while no page is open; otherwise those of the page's worker take effect. */
  readonly settings?: WorkerOptions['settings'];
}

export interface SetteeServiceWorker {
  /** Absolute, with a slash at its end. */
  readonly base: string;
  /** Whether the request is for the database. Decides by its address alone. */
  handles(request: Request): boolean;
  /**
   * Answers the event's request if it is for the database; if not, returns false and leaves the event untouched. Requests of replications to a
   * server at the base itself are left to the browser: for them it also returns true.
   */
  respond(event: FetchEvent): boolean;
  /** Loads the core, so that it is available without a network. Call it while the service worker is being installed. */
  install(event: ExtendableEvent): void;
}

/** What `settee-sw-core.js` leaves in the global `setteeCore`. */
export interface CoreScript {
  readonly protocol: number;
  createOwner(options: OwnerOptions): ServiceWorkerOwner;
}

export interface OwnerOptions {
  readonly instance: Instance;
  readonly settings?: WorkerOptions['settings'] | undefined;
}

export interface ServiceWorkerOwner {
  /** Takes the storage if no one owns it or waits for it; gives it up by itself when idle or asked. */
  takeIfFree(): Promise<boolean>;
  /**
   * Takes the storage in the same way, and keeps it until replications are at rest or can't go on. Resolves to their state then; to undefined if
   * another worker has the storage.
   */
  replicate(): Promise<ReplicationMessage['activity'] | undefined>;
}

/** The files of an app to keep, as `settee-precache.js` or the Vite plugin leaves them in the global `setteePrecache`. */
export interface PrecacheList {
  /**
   * Addresses, relative to the service worker's own. An entry with a revision is fetched again when that changes; with `null` its address
   * changes with its content.
   */
  readonly files: readonly (string | { readonly url: string; readonly revision: string | null })[];
  /** The revision of all files that have none of their own: if it changes, all of them are fetched again. */
  readonly version: string;
  /** One of the files: the page for navigations to addresses that are not files. Default: none, the network answers them. */
  readonly fallback?: string;
}

/** What `settee-sw-precache.js` does with such a list. */
export interface Precaching {
  install(event: ExtendableEvent): void;
  activate(event: ExtendableEvent): void;
  /** Answers the event's request if it is for one of the files, and otherwise leaves it untouched. */
  respond(event: FetchEvent): void;
}

/** What `settee-sw-utils.js` leaves in the global `setteeUtils`. */
export interface PageScript {
  createPage(options: PageOptions): PageService;
}

export interface PageOptions {
  /** Absolute, with a slash at its end. */
  readonly base: string;
  /** The address of `settee-sw-utils.js`; the other files of the page lie beside it. */
  readonly script: URL;
}

export interface PageService {
  /** Undefined for what is not for the page, or is answered by the database: other methods, and the page's settings. */
  respond(event: FetchEvent): Promise<Response> | undefined;
}

/** The administration page as it was built. The entity tags are without their quotes. */
export interface BuiltPage {
  /** Changes with any of the files. */
  readonly version: string;
  /** By names such as `index.html`. */
  readonly pages: Readonly<Record<string, PageText>>;
  /** The entity tags of all other files, by names such as `assets/main-1a2b3c4d.js`. */
  readonly assets: Readonly<Record<string, string>>;
}

/** An HTML file. */
export interface PageText {
  readonly text: string;
  readonly tag: string;
}
