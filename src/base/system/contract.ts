/**
 * What the whole service shares: settings, log, running tasks. Setting names are those of the configuration interface
 * (docs/http/server.md#settings); values are strings there, parsed where they are read.
 */
export interface Config {
  /** The value that holds now; undefined where the setting is unset. Quick: ask at each use rather than keep the answer. */
  get(section: string, key: string): string | undefined;
}

/** Settings by section and key. */
export type Settings = Readonly<Record<string, Readonly<Record<string, string>>>>;

export interface SettingName {
  readonly section: string;
  readonly key: string;
}

/** Under our own name of the setting. */
export interface ConfigChange {
  readonly section: string;
  readonly key: string;
  /** What holds now; undefined where the setting is unset. */
  readonly value: string | undefined;
  /** What held before. */
  readonly before: string | undefined;
}

export interface ConfigOptions {
  /** False: the change lasts until the service is opened again, and is kept nowhere. Default true. */
  readonly persist?: boolean | undefined;
}

/**
 * The settings of a running service: what was given at the start over what is kept over the defaults. Changes happen one after another,
 * and each as a whole: first it is kept, then it holds, then the listeners are called, in the order of coming; then the promise resolves.
 * One that is refused, or can't be kept, changes nothing.
 */
export interface ConfigStore extends Config {
  /** Our own name of a setting, which may be named as other servers of the family do. `set`, `delete` and `section` take such names, too. */
  ownName(section: string, key: string): SettingName;
  /** All that hold, defaults included, under our own names, sorted by section and key: a copy. */
  sections(): Settings;
  /** Those of one section, which may be one of the family's; empty where it has none. */
  section(name: string): Readonly<Record<string, string>>;
  /**
   * Gives the value before, undefined where it was unset. Fails with `bad_request` on a value that the setting can't have, on a setting that means
   * nothing here, on line breaks and other control characters; with `modification_not_allowed` where the setting was given at the start (a flag, the environment, the
   * app) and the change should persist: it would be gone at the next start.
   */
  set(section: string, key: string, value: string, options?: ConfigOptions): Promise<string | undefined>;
  /** Unsets, so that the default holds where there is one. Gives the value before, undefined where it was unset. Fails as `set` does. */
  delete(section: string, key: string, options?: ConfigOptions): Promise<string | undefined>;
  /**
   * The settings as they would be with that value, or where it is undefined, without the one that is kept: to be read alone. Fails with
   * `bad_request` on a value that the setting can't have.
   */
  preview(section: string, key: string, value: string | undefined, options?: ConfigOptions): ConfigStore;
  /** A listener that fails is logged, and keeps nobody from being called. Gives the function that ends it. */
  onChange(listener: (change: ConfigChange) => void): () => void;
}

/**
 * ERROR: a developer must look. INFO: the state changed, or a log-in failed. DEBUG: all else but requests, which have a level of their own.
 * Never document bodies or credentials.
 */
export interface Log {
  error(message: string, cause?: unknown): void;
  info(message: string): void;
  debug(message: string): void;
  /** Writes an entry that a client sent, which must not displace the service's own entries. If absent, the entry is written by its level like all others. */
  client?(level: 'error' | 'info' | 'debug', message: string): void;
  /** Takes one request and how it was answered. The message is made where it is written, since most services write none. */
  request?(message: () => string): void;
}

export interface ActiveTask {
  readonly type: string;
  readonly database: string;
  update(changesDone: number, totalChanges: number): void;
  end(): void;
}

/**
 * Gives bytes as gzip while they come, at a level from 1, the quickest, to 9, the shortest. Fails with what the source fails with; whoever
 * reads no further leaves nothing open.
 */
export type Gzip = (source: AsyncIterable<Uint8Array>, level: number) => AsyncIterable<Uint8Array>;
