/**
 * What the tests ask of a browser, whichever drives it. A driver only drives: what a test does in the page is the page's own
 * script, asked through `Tab.evaluate`.
 */
export type Engine = 'chromium' | 'firefox' | 'webkit';

export interface Browser {
  readonly engine: Engine;
  /** The reason why this driver can't, or true. Tests skip with the reason. */
  readonly can: Abilities;
  /** Consoles and errors of all pages and workers that the driver hears, in the order in which they came. */
  readonly messages: readonly string[];
  open(url: string): Promise<Tab>;
  /** Ends the service workers as the browser does with idle ones. */
  stopServiceWorkers(origin: string): Promise<void>;
  /** Whether the browser has no network, and says so to pages and workers. */
  setOffline(isOffline: boolean): Promise<void>;
  /** The browser tells the service worker of an origin that what was registered for background synchronization may be done. */
  dispatchSync(origin: string, tag: string): Promise<void>;
  /** Sets how much the origin may store. */
  limitStorage(origin: string, bytes: number): Promise<void>;
  /** The processes that run scripts of pages and workers. */
  processes(): Promise<readonly number[]>;
  close(): Promise<void>;
}

export interface Abilities {
  /** SIGSTOP to the process of a tab, and SIGCONT. */
  readonly freeze: true | string;
  /** SIGKILL to the process of a tab; the others go on. */
  readonly kill: true | string;
  readonly stopServiceWorkers: true | string;
  readonly limitStorage: true | string;
  readonly setOffline: true | string;
  readonly dispatchSync: true | string;
  /** Pages that are left stay in the back/forward cache. */
  readonly backForwardCache: true | string;
  readonly hardReload: true | string;
  /** What the browser saves can be read. */
  readonly download: true | string;
}

/** What a browser saved. */
export interface SavedFile {
  readonly name: string;
  readonly text: string;
}

export interface Tab {
  /** The value of an expression, awaited; what JSON can carry. Rejects with the page's own message. */
  evaluate(expression: string): Promise<unknown>;
  /** The one file that the browser saves because of a script. */
  download(script: string): Promise<SavedFile>;
  navigate(url: string): Promise<void>;
  /** `hard` asks the network for everything, past the service worker. */
  reload(how?: 'hard'): Promise<void>;
  back(): Promise<void>;
  close(): Promise<void>;
  /** The process that runs the tab's scripts and workers. */
  process(): Promise<number>;
}

export interface LaunchOptions {
  /** Firefox preferences beyond the driver's own. */
  readonly preferences?: Readonly<Record<string, string | number | boolean>>;
  /** Sites can't store anything, as where a user blocks all cookies. */
  readonly blocksSiteData?: boolean;
}
