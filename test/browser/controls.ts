import type { Tab } from './drivers/browser.ts';

/** What the page `control` offers to tests, in its global `control`. Parameters and results are what JSON can carry. */
export interface Controls {
  /** Starts the service; gives the milliseconds that took. Rejects as `start` does. */
  start(options: StartChoice): Promise<number>;
  close(): Promise<void>;
  /** What the promise of that name comes to. */
  controlled(): Promise<boolean>;
  status(): Promise<StatusTold>;
  role(): Promise<string>;
  isControlled(): Promise<boolean>;
  /** Looks for a new service worker as the browser itself does now and then. */
  lookForUpdate(): Promise<void>;
  /** How often the page was told that a new one waits. */
  updates(): Promise<number>;
  isUpdateWaiting(): Promise<boolean>;
  update(): Promise<boolean>;
  /** From now on this page provides that token for databases at or below the address: null for none. It expires that long after each answer. */
  provideToken(url: string, token: string | null, lifeMs?: number): Promise<void>;
  /** How often this page was asked for a token. */
  tokenCalls(): Promise<number>;
  /** As when the user logs out. */
  removeTokens(): Promise<void>;
  /** Sends no body where `json` is null or undefined. */
  request(way: Way, method: string, path: string, json?: unknown, credentials?: Credentials): Promise<Answered>;
  /**
   * Reads a document again and again while another request is under way, or for so many milliseconds. Gives the milliseconds that each
   * reading took, and what the request was answered.
   */
  readBeside(way: Way, path: string, beside: Beside | number): Promise<ReadBeside>;
  /** Writes documents one after another, and reads between, until told to stop. */
  beginWork(options: WorkOptions): Promise<void>;
  work(): Promise<WorkReport>;
  /** As `work`; the longest times are counted from here on. */
  markWork(): Promise<WorkReport>;
  endWork(): Promise<WorkReport>;
  /** Writes `count` documents, `parallel` at a time; gives how many were acknowledged. */
  writeMany(way: Way, database: string, prefix: string, count: number, parallel: number): Promise<number>;
  /** Ids that any page of this origin told to be acknowledged since this page was loaded. */
  heard(): Promise<string[]>;
  /** All ids of the database. */
  ids(way: Way, database: string): Promise<string[]>;
  /** Whether each time this page was shown it came out of the back/forward cache. */
  shows(): Promise<boolean[]>;
  deleteStorage(): Promise<number>;
  getsAtOnce(way: Way, database: string, count: number): Promise<Tally>;
  putsAtOnce(way: Way, database: string, count: number, bytes: number): Promise<Tally>;
  /** Sends one body of `documents` documents with `bytes` bytes each, and reads them back in one body. */
  sendLarge(way: Way, database: string, documents: number, bytes: number): Promise<number>;
  /** Writes documents `large-0`, `large-1`, …, of so many bytes that no storage compresses, until one is refused. */
  fill(way: Way, database: string, bytes: number): Promise<Filled>;
  readLarge(way: Way, database: string, bytesPerSecond?: number): Promise<LargeRead>;
  /** Opens a large body, reads its first chunk and leaves it there. */
  holdBody(way: Way, path: string): Promise<number>;
  /** Reads what `holdBody` left: to its end, or to the error that it came to. */
  drainHeldBody(): Promise<LargeRead>;
  /** Begins to read a body and goes on by itself, no faster than this. */
  beginSlowRead(way: Way, path: string, bytesPerSecond: number): Promise<void>;
  endSlowRead(): Promise<LargeRead>;
  /** Begins to read a body line by line, and goes on by itself. Gives its number in this page. */
  beginFeed(way: Way, path: string): Promise<number>;
  /** What came so far. */
  feed(number: number): Promise<FeedRead>;
  /** Opens an event source, which connects again by itself. Gives its number in this page. */
  openEvents(path: string): Promise<number>;
  /** The data of the events that came so far, and whether it is connected. */
  events(number: number): Promise<EventsRead>;
}

export interface EventsRead {
  readonly data: readonly string[];
  readonly isOpen: boolean;
}

export type Way = 'settee' | 'fetch';

/** Whether cookies go with a request: with none, or with any. */
export type Credentials = 'omit' | 'include';

export interface StartChoice {
  readonly base: string;
  readonly worker?: string;
  readonly serviceWorker?: string | false;
  readonly settings?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly waitFor?: 'control' | 'database';
  readonly replaceFetch?: boolean;
  readonly persist?: boolean;
}

/** What tests ask for of a status. */
export interface StatusTold {
  readonly controlled: boolean;
  readonly uncontrolledBecause: string | undefined;
  readonly outdated: boolean;
}

export interface Answered {
  readonly status: number;
  readonly json: unknown;
  /** Names of the headers that the page sees. */
  readonly headers: readonly string[];
  readonly ms: number;
}

/** What is asked while a document is read: method, path and JSON. */
export type Beside = readonly [method: string, path: string, json?: unknown];

export interface ReadBeside {
  readonly latencies: readonly number[];
  readonly answer?: Answered;
}

export interface WorkOptions {
  readonly way: Way;
  readonly database: string;
  readonly prefix: string;
}

export interface WorkReport {
  readonly acknowledged: readonly string[];
  /** Writes that were not acknowledged, with what was told of them. */
  readonly refused: readonly string[];
  readonly reads: number;
  readonly failedReads: readonly string[];
  /** The longest time in which no request at all was answered. */
  readonly longestSilenceMs: number;
  /** The longest time between two writes that were acknowledged, and between two reads that were answered. */
  readonly longestWriteGapMs: number;
  readonly longestReadGapMs: number;
}

export interface Tally {
  /** How many answers had each status; an exception counts under its message. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly wrong: number;
  readonly ms: number;
}

export interface Filled {
  readonly written: number;
  readonly refusal: Answered;
}

export interface LargeRead {
  readonly bytes: number;
  /** The last characters. */
  readonly end: string;
  /** Undefined where the body ended as it should. */
  readonly error?: string;
  readonly ms: number;
}

export interface FeedRead {
  readonly bytes: number;
  readonly lines: readonly FeedLine[];
  /** Whether the body came to an end, or to an error. */
  readonly isOver: boolean;
  /** Undefined where the body ended as if it were whole. */
  readonly error?: string;
}

export interface FeedLine {
  /** Its first 100 characters. */
  readonly text: string;
  /** When it came: milliseconds of the clock. */
  readonly at: number;
}

/** Calls a function of the page `control` in a tab. */
export async function call<Name extends keyof Controls>(
  tab: Tab,
  name: Name,
  ...parameters: Parameters<Controls[Name]>
): Promise<Awaited<ReturnType<Controls[Name]>>> {
  const result = await tab.evaluate(`control.${name}(...${JSON.stringify(parameters)})`);
  // The page answers with what its own side of the interface says.
  return result as Awaited<ReturnType<Controls[Name]>>;
}
